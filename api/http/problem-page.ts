import type { FastifyRequest } from 'fastify'
import { MEDIA_TYPES, prefersHtml } from './accept'
import { html } from './html'
import { anchor, list, type Page, page } from './pages'

/** An error as a page, for browsers; programs receive it as JSON. */
export interface ShownProblem {
  status: number
  title: string
  detail: string
  /** JSON body that programs receive. */
  body: object
  /** Address of a page about this kind of error. */
  about?: string
}

/** True if the error is sent as a page: `f` or `format` is HTML, or a browser requests no other format. */
export function wantsPage({ method, query, headers }: FastifyRequest): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false
  const { f, format = f } = (query ?? {}) as Record<string, unknown>
  if (format === 'html') return true
  return !Object.hasOwn(MEDIA_TYPES, String(format)) && prefersHtml(headers.accept)
}

/** @param publicBaseUrl without a trailing slash */
export function problemPage(
  { status, title, detail, body, about }: ShownProblem,
  publicBaseUrl: string,
): Page {
  const ways = [
    ...(about === undefined ? [] : [anchor(about, 'Causes and remedies of this error')]),
    anchor(`${publicBaseUrl}/api/v0/location-records?format=html`, 'Location records'),
    anchor(`${publicBaseUrl}/ogc?f=html`, 'OGC API for GIS software, with maps'),
    anchor(`${publicBaseUrl}/docs`, "The API's documentation"),
  ]
  return page(
    title,
    [],
    html`<p class="note">Status ${status}</p>
<p><bdi>${detail}</bdi></p>
<h2>Where to go next</h2>
${list(ways)}
<h2>JSON response</h2>
<pre>${JSON.stringify(body, null, 2)}</pre>`,
  )
}
