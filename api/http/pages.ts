import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { cut } from '../../src/cut'
import { HEADER_STYLE, SITE_NAME, SITE_PAGES } from '../../src/page-header'
import { type Html, html, trusted } from './html'

/**
 * Layout of the pages without scripts: errors, records, the documents of OGC API - Features. They show
 * content that anyone may have attested, so templates escape every text, and the policy allows no script.
 */

/**
 * Returns the header of all pages.
 * @param root address of the service's root, with a trailing slash
 * @param current path of the shown page, if the header has it
 */
export function header(root: string, current?: string): Html {
  const link = ({ path, name, isMain }: (typeof SITE_PAGES)[number]) =>
    html`<a href="${root}${path}"${!isMain && trusted(' class="minor"')}${path === current && trusted(' aria-current="page"')}>${name}</a>`
  const others = SITE_PAGES.filter(({ isMain }) => !isMain)
  return html`<header class="site"><a class="brand" href="${root}">${SITE_NAME}</a><nav aria-label="Pages">${SITE_PAGES.map(link)}<details><summary>More</summary><div>${others.map(link)}</div></details></nav></header>`
}
const STYLE = `${HEADER_STYLE}
:root { accent-color: var(--accent) } body { margin: 0 } main { max-width: 62rem; margin: 0 auto; padding: 1.25rem 1.25rem 3rem }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 1rem 0 .5rem; overflow-wrap: anywhere } h2 { font-size: 1.1rem; margin: 1.75rem 0 .5rem }
a { color: var(--accent) } .trail a + a::before { content: "/"; padding: 0 .4em; color: var(--soft-text); display: inline-block }
p { max-width: 46rem } ul { padding-left: 1.2rem; max-width: 46rem } li { margin: .2rem 0 }
table { border-collapse: collapse; width: 100%; margin: .75rem 0 }
th, td { text-align: left; vertical-align: top; padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line) }
th { font-weight: 600; font-size: .9rem } input[type=search] { font: inherit; padding: .3rem .5rem; width: min(24rem, 60vw) } input[type=search], button { color: inherit; background: var(--raised); border: 1px solid var(--line); border-radius: var(--radius) } button { font: inherit; padding: .3rem .8rem; cursor: pointer } :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px } td.time, .whole { white-space: nowrap }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .25rem 1rem; margin: .5rem 0 } dt { color: var(--soft-text) } dd { margin: 0 }
p, td, dd, code, pre, li { overflow-wrap: anywhere } code, pre { font: .85em/1.45 ui-monospace, monospace }
pre { white-space: pre-wrap; background: var(--raised); padding: .75rem; max-height: 28rem; overflow: auto; margin: 0 }
.long { max-height: 12rem; overflow: auto } .note { color: var(--soft-text) } .revoked { color: var(--danger) }
details { border-bottom: 1px solid var(--line); padding: .35rem 0 } summary { cursor: pointer; overflow-wrap: anywhere } summary .kind { color: var(--soft-text) }
.map { width: 100%; height: auto; background: light-dark(#cfe3ee, #131c26); border: 1px solid var(--line); overflow: hidden }
.map .land { fill: light-dark(#f6f4ee, #26303a); fill-rule: evenodd } .map .grid path { stroke: var(--line); stroke-width: 1 } .map .grid text { font: 11px system-ui, sans-serif; fill: var(--soft-text) }
.map .point { fill: #d1495b; fill-opacity: .8; stroke: Canvas; stroke-width: 1 } .map .line { fill: none; stroke: #2a7de1; stroke-width: 2.5 }
.map .area { fill: #2a9d6f; fill-opacity: .25; fill-rule: evenodd; stroke: #2a9d6f; stroke-width: 1.5 } .map a:hover * { stroke: currentColor }
.map .box { fill: none; stroke: var(--soft-text); stroke-width: 1.5; stroke-dasharray: 6 4 }
.request { display: block; padding: .6rem .75rem; background: var(--raised); border-radius: var(--radius) } td > p { margin: 0 0 .3rem } details > table { font-size: .95em } h3 { font-size: 1rem; margin: .75rem 0 .25rem }
.pages { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 1rem 0 }
@media (max-width: 40rem) {
  dl { display: block } dd { margin-bottom: .4rem }
  thead { display: none } tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line) } td { display: block; border: 0; padding: .05rem 0 }
  .map .grid text { font-size: 24px } .map .grid text:nth-of-type(even) { display: none } .map .point { r: 11px }
  td[data-name]::before { content: attr(data-name) " "; color: var(--soft-text) }
}
`
/** Content-Security-Policy: no scripts, nothing from other addresses, and only this stylesheet, by hash. */
const policy = (form: boolean) =>
  `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action ${form ? "'self'" : "'none'"}; frame-ancestors 'none'`

export type Trail = readonly { href: string; title: string }[]

export interface Page {
  readonly title: string
  readonly trail: Trail
  readonly body: Html
}

export function page(title: string, trail: Trail, body: Html): Page {
  return { title, trail, body }
}

/** Sends a page with its policy. @param options.form true if the page has a form of this service */
export function sendPage(reply: FastifyReply, page: Page, { form = false } = {}): FastifyReply {
  return reply
    .headers({
      'content-security-policy': policy(form),
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    })
    .type('text/html; charset=utf-8')
    .send(documentOf(page, reply.request.url))
}

/** Returns the root's address relative to this path, correct behind any path prefix of a reverse proxy. */
export function rootOf(url: string): string {
  const depth = url.split('?')[0]!.split('/').length - 2
  return depth > 0 ? '../'.repeat(depth) : './'
}

function documentOf({ title, trail, body }: Page, url: string): string {
  const root = rootOf(url)
  return html`<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title><style>${trusted(STYLE)}</style></head>
<body>
${header(root, currentOf(url))}
<main>
${trail.length > 0 && html`<nav class="trail" aria-label="Breadcrumb">${trail.map((above) => anchor(above.href, above.title))}</nav>`}
<h1><bdi>${title}</bdi></h1>
${body}
</main>
</body>
</html>
`.toString()
}

/** Page of the header to which a URL belongs; undefined if it belongs to none. */
function currentOf(url: string): string | undefined {
  const [pathname] = url.split('?')
  const first = pathname!.split('/').at(-rootOf(url).split('../').length)
  return SITE_PAGES.find(({ path }) => path !== '' && path === first)?.path
}

export function anchor(href: string, text: string): Html {
  return html`<a href="${href}">${text}</a>`
}

const SEARCH_CHARACTERS = 200
/** A form that searches by the parameter `q`. @param label what is searched */
export function searchForm(action: string, label: string, text: string, focused = false): Html {
  return html`<form role="search" action="${action}"><label>${label} <input type="search" name="q" value="${text}" maxlength="${SEARCH_CHARACTERS}" accesskey="s"${focused && trusted(' autofocus')}></label> <button>Search</button></form>`
}

export function searchText({ q }: { q?: unknown }): string {
  return typeof q === 'string' ? cut(q, SEARCH_CHARACTERS) : ''
}

export function list(items: readonly (Html | string)[]): Html {
  return html`<ul>${items.map((item) => html`<li>${item}</li>`)}</ul>`
}

/** Formats names with their values; a value that is not a text is written as JSON. */
export function definitions(values: Record<string, unknown>): Html {
  return html`<dl>${Object.entries(values).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    const shown = name.endsWith('_url') && typeof value === 'string' ? anchor(value, value) : text
    return html`<dt>${name}</dt><dd${text.length > 1_000 && trusted(' class="long"')}><bdi>${shown}</bdi></dd>`
  })}</dl>`
}
