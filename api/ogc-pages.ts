import { createHash } from 'node:crypto'
import { escapeHtml } from './error-pages'
import { type Collection, type Document, type Link } from './ogc-documents'
import { drawMap, type Geometry } from './ogc-map'

/**
 * The documents of OGC API - Features as HTML 5 pages: all that the JSON says, and all of its links (/req/html/content). What people
 * attested stands in them: every text is escaped, and the policy allows no script at all.
 */

export interface Feature {
  id: string
  geometry: Geometry | null
  properties: Record<string, unknown>
  links?: Link[]
}

const STYLE = `
:root { color-scheme: light dark; --line: #8885; --soft: #8882; --blue: light-dark(#0b5cad, #7ab8ff) }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1.25rem 1.25rem 3rem }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 1rem 0 .5rem; overflow-wrap: anywhere } h2 { font-size: 1.1rem; margin: 1.75rem 0 .5rem }
a { color: var(--blue) } nav a + a::before { content: "/"; padding: 0 .4em; color: GrayText; display: inline-block }
p { max-width: 46rem } ul { padding-left: 1.2rem } li { margin: .2rem 0 }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; vertical-align: top; padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line) }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .25rem 1rem; margin: .5rem 0 } dt { color: GrayText } dd { margin: 0 }
td, dd, code, pre, li { overflow-wrap: anywhere } code, pre { font: .85em/1.45 ui-monospace, monospace } pre { white-space: pre-wrap; background: var(--soft); padding: .75rem; max-height: 28rem; overflow: auto; margin: 0 }
.long { max-height: 12rem; overflow: auto } .note { color: GrayText } .revoked { color: light-dark(#b3261e, #ff8a80) }
details { border-bottom: 1px solid var(--line); padding: .35rem 0 } summary { cursor: pointer; overflow-wrap: anywhere } summary .kind { color: GrayText }
.map { width: 100%; height: auto; background: var(--soft); border: 1px solid var(--line); overflow: hidden }
.map .grid path { stroke: var(--line); stroke-width: 1 } .map .grid text { font: 11px system-ui, sans-serif; fill: GrayText }
.map .point { fill: #d1495b; fill-opacity: .8; stroke: Canvas; stroke-width: 1 } .map .line { fill: none; stroke: #2a7de1; stroke-width: 2.5 }
.map .area { fill: #2a9d6f; fill-opacity: .25; fill-rule: evenodd; stroke: #2a9d6f; stroke-width: 1.5 } .map a:hover * { stroke: currentColor }
.pages { display: flex; gap: 1.25rem; margin: 1rem 0 }
`
/** No scripts, nothing from elsewhere, one stylesheet, named by its hash. */
export const PAGE_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

/** Where a page is: the pages above it, with their titles. */
export type Trail = readonly { href: string; title: string }[]

export function landingPage(document: Document): string {
  return page(document.title, [], `<p>${escapeHtml(document.description)}</p>${linkList('Links', document.links)}`)
}

export function conformancePage({ conformsTo }: { conformsTo: readonly string[] }, trail: Trail, links: readonly Link[]): string {
  return page('Conformance', trail, `<p>This service conforms to OGC API - Features, Part 1: Core. The conformance classes that it implements:</p><ul>${conformsTo.map((uri) => `<li><code>${escapeHtml(uri)}</code></li>`).join('')}</ul>${linkList('Links', links)}`)
}

export function collectionsPage(collections: readonly Collection[], trail: Trail, links: readonly Link[]): string {
  return page('Collections', trail, collections.map((collection) => `<h2>${escapeHtml(collection.title)}</h2>${collectionBody(collection)}`).join('') + linkList('Links of this page', links))
}

export function collectionPage(collection: Collection, trail: Trail): string {
  return page(collection.title, trail, collectionBody(collection))
}

function collectionBody({ id, description, itemType, crs, extent, links }: Collection): string {
  const { spatial, temporal } = extent
  return `<p>${escapeHtml(description)}</p>${definitions({
    id,
    itemType,
    crs: crs.join(', '),
    'extent, in space': `${spatial.bbox.map((box) => box.join(', ')).join('; ')} (${spatial.crs})`,
    ...(temporal && { 'extent, in time': `${temporal.interval.map(([first, last]) => `${first} to ${last}`).join('; ')} (${temporal.trs})` }),
  })}${linkList('Links', links)}`
}

/** A page of features. */
export function itemsPage(answer: { features: readonly Feature[]; links: readonly Link[]; timeStamp: string; numberReturned: number; numberMatched?: number }, itemHref: (id: string) => string, trail: Trail): string {
  const { features, links, timeStamp, numberReturned, numberMatched } = answer
  const { svg, left } = drawMap(features.map(({ id, geometry, properties }) => ({ title: titleOf(id, properties), href: itemHref(id), geometry })))
  const without = features.filter(({ geometry }) => geometry === null).length
  const notes = [...(without ? [`${without} of them ${without === 1 ? 'has' : 'have'} no geometry.`] : []), ...(left ? [`${left} are too large to be drawn here.`] : [])]
  const paging = links.filter(({ rel }) => rel === 'next' || rel === 'first').map((each) => anchor(each, each.rel === 'next' ? 'Next page' : 'First page'))
  const list = features.map(
    ({ id, geometry, properties }) =>
      `<details><summary>${escapeHtml(String(properties.timestamp))} <span class="kind">${escapeHtml(String(properties.chain))}, ${escapeHtml(geometry?.type ?? 'no geometry')}</span>${properties.revoked ? ' <span class="revoked">revoked</span>' : ''} <bdi>${escapeHtml(headline(properties))}</bdi></summary>
<p><a href="${escapeHtml(itemHref(id))}"><code>${escapeHtml(id)}</code></a></p>${definitions({ ...properties, geometry })}</details>`,
  )
  return page(
    'Location records',
    trail,
    `<p>${numberReturned.toLocaleString('en')} of ${numberMatched === undefined ? 'many' : numberMatched.toLocaleString('en')} records, newest first, as of ${escapeHtml(timeStamp)}. ${escapeHtml(notes.join(' '))}</p>
${svg}<div class="pages">${paging.join('')}</div>${list.join('\n')}<div class="pages">${paging.join('')}</div>${linkList('Links', links)}`,
  )
}

/** One feature. */
export function itemPage({ id, geometry, properties, links = [] }: Feature, trail: Trail): string {
  const { svg } = drawMap([{ title: titleOf(id, properties), href: links.find(({ rel }) => rel === 'self')?.href ?? '', geometry }])
  return page(
    headline(properties) || 'A location record',
    trail,
    `${properties.revoked ? '<p class="revoked">This record was revoked by whoever attested it.</p>' : ''}${svg || '<p class="note">It has no geometry that can be read for certain.</p>'}
<h2>Properties</h2>${definitions({ id, ...properties })}<h2>Geometry</h2><pre>${escapeHtml(JSON.stringify(geometry))}</pre>${linkList('Links', links)}`,
  )
}

/** A JSON document that has no page of its own making. */
export function jsonPage(title: string, introduction: string, document: unknown, trail: Trail, links: readonly Link[]): string {
  return page(title, trail, `<p>${escapeHtml(introduction)}</p><pre>${escapeHtml(JSON.stringify(document, null, 2))}</pre>${linkList('Links', links)}`)
}

/** The definition of the API: its operations in short, then the whole document. */
export function apiPage(document: { info: { title: string; description: string }; paths: object }, operations: readonly { path: string; summary: string; parameters: readonly { name: string; description: string }[] }[], trail: Trail, links: readonly Link[]): string {
  const list = operations.map(
    ({ path, summary, parameters }) => `<h2><code>GET ${escapeHtml(path)}</code></h2><p>${escapeHtml(summary)}</p>${parameters.length ? definitions(Object.fromEntries(parameters.map(({ name, description }) => [name, description]))) : ''}`,
  )
  return page(document.info.title, trail, `<p>${escapeHtml(document.info.description)}</p>${list.join('')}<h2>OpenAPI document</h2><pre>${escapeHtml(JSON.stringify(document, null, 2))}</pre>${linkList('Links', links)}`)
}

function page(title: string, trail: Trail, body: string): string {
  return `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escapeHtml(title)}</title><style>${STYLE}</style></head>
<body>
<nav>${trail.map(({ href, title: name }) => `<a href="${escapeHtml(href)}">${escapeHtml(name)}</a>`).join('')}</nav>
<h1><bdi>${escapeHtml(title)}</bdi></h1>
${body}
</body>
</html>
`
}

function linkList(title: string, links: readonly Link[]): string {
  return `<h2>${escapeHtml(title)}</h2><ul>${links.map((each) => `<li>${anchor(each, each.title)} <span class="note">${escapeHtml(each.rel)}, ${escapeHtml(each.type)}</span></li>`).join('')}</ul>`
}

/** A link out of a page; one to JSON says so, as a browser would get a page again. */
function anchor({ href, rel, type }: Link, text: string): string {
  const to = type.includes('json') && !/[?&]f=/.test(href) ? `${href}${href.includes('?') ? '&' : '?'}f=json` : href
  return `<a href="${escapeHtml(to)}" rel="${escapeHtml(rel)}" type="${escapeHtml(type)}">${escapeHtml(text)}</a>`
}

function definitions(values: Record<string, unknown>): string {
  return `<dl>${Object.entries(values).map(([name, value]) => `<dt>${escapeHtml(name)}</dt><dd${textOf(value).length > 1_000 ? ' class="long"' : ''}><bdi>${escapeHtml(textOf(value))}</bdi></dd>`).join('')}</dl>`
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function titleOf(id: string, properties: Record<string, unknown>): string {
  return headline(properties) || id
}

/** The beginning of the memo: what tells records apart in a list. */
function headline({ memo }: Record<string, unknown>): string {
  const characters = Array.from(typeof memo === 'string' ? memo.slice(0, 200) : '')
  return characters.length > 80 ? `${characters.slice(0, 79).join('')}…` : characters.join('')
}
