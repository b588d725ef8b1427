import { type Collection, type Document, type Link } from './ogc-documents'
import { drawMap } from './ogc-map'
import { definitions, escapeHtml, page, type Trail } from './pages'
import { featureBody, headline, titleOf, type Feature } from './record-pages'
import type { Bbox } from './store-records'

/** The documents of OGC API - Features as HTML 5 pages: all that the JSON says, and all of its links (/req/html/content). */

export function landingPage(document: Document): string {
  return page(
    document.title,
    [],
    `<p>${escapeHtml(document.description)}</p>${linkList('Links', document.links)}`,
  )
}

export function conformancePage(
  { conformsTo }: { conformsTo: readonly string[] },
  trail: Trail,
  links: readonly Link[],
): string {
  return page(
    'Conformance',
    trail,
    `<p>This service conforms to OGC API - Features, Part 1: Core. The conformance classes that it implements:</p><ul>${conformsTo.map((uri) => `<li><code>${escapeHtml(uri)}</code></li>`).join('')}</ul>${linkList('Links', links)}`,
  )
}

export function collectionsPage(
  collections: readonly Collection[],
  trail: Trail,
  links: readonly Link[],
): string {
  return page(
    'Collections',
    trail,
    collections
      .map((collection) => `<h2>${escapeHtml(collection.title)}</h2>${collectionBody(collection)}`)
      .join('') + linkList('Links of this page', links),
  )
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
    ...(temporal && {
      'extent, in time': `${temporal.interval.map(([first, last]) => `${first} to ${last}`).join('; ')} (${temporal.trs})`,
    }),
  })}${linkList('Links', links)}`
}

/** A page of features. @param box that was asked for */
export function itemsPage(
  answer: {
    features: readonly Feature[]
    links: readonly Link[]
    timeStamp: string
    numberReturned: number
    numberMatched?: number
  },
  itemHref: (id: string) => string,
  trail: Trail,
  box?: Bbox,
): string {
  const { features, links, timeStamp, numberReturned, numberMatched } = answer
  const { svg, left } = drawMap(
    features.map(({ id, geometry, properties }) => ({
      title: titleOf(id, properties),
      href: itemHref(id),
      geometry,
    })),
    box,
  )
  const without = features.filter(({ geometry }) => geometry === null).length
  const notes = [
    ...(without ? [`${without} of them ${without === 1 ? 'has' : 'have'} no geometry.`] : []),
    ...(left ? [`${left} are too large to be drawn here.`] : []),
  ]
  const paging = links
    .filter(({ rel }) => rel === 'next' || rel === 'first')
    .map((each) => linkTo(each, each.rel === 'next' ? 'Next page' : 'First page'))
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
export function itemPage(feature: Feature & { links: readonly Link[] }, trail: Trail): string {
  const self = feature.links.find(({ rel }) => rel === 'self')!.href
  return page(
    headline(feature.properties) || 'A location record',
    trail,
    `${featureBody(feature, self)}${linkList('Links', feature.links)}`,
  )
}

/** A JSON document that has no page of its own making. */
export function jsonPage(
  title: string,
  introduction: string,
  document: unknown,
  trail: Trail,
  links: readonly Link[],
): string {
  return page(
    title,
    trail,
    `<p>${escapeHtml(introduction)}</p><pre>${escapeHtml(JSON.stringify(document, null, 2))}</pre>${linkList('Links', links)}`,
  )
}

/** The definition of the API: its operations in short, then the whole document. */
export function apiPage(
  document: { info: { title: string; description: string }; paths: object },
  operations: readonly {
    path: string
    summary: string
    parameters: readonly { name: string; description: string }[]
  }[],
  trail: Trail,
  links: readonly Link[],
): string {
  const list = operations.map(
    ({ path, summary, parameters }) =>
      `<h2><code>GET ${escapeHtml(path)}</code></h2><p>${escapeHtml(summary)}</p>${parameters.length ? definitions(Object.fromEntries(parameters.map(({ name, description }) => [name, description]))) : ''}`,
  )
  return page(
    document.info.title,
    trail,
    `<p>${escapeHtml(document.info.description)}</p>${list.join('')}<h2>OpenAPI document</h2><pre>${escapeHtml(JSON.stringify(document, null, 2))}</pre>${linkList('Links', links)}`,
  )
}

function linkList(title: string, links: readonly Link[]): string {
  return `<h2>${escapeHtml(title)}</h2><ul>${links.map((each) => `<li>${linkTo(each, each.title)} <span class="note">${escapeHtml(each.rel)}, ${escapeHtml(each.type)}</span></li>`).join('')}</ul>`
}

/** A link out of a page; one to JSON says so, as a browser would get a page again. */
function linkTo({ href, rel, type }: Link, text: string): string {
  const to =
    type.includes('json') && !/[?&]f=/.test(href) ? `${href}${href.includes('?') ? '&' : '?'}f=json` : href
  return `<a href="${escapeHtml(to)}" rel="${escapeHtml(rel)}" type="${escapeHtml(type)}">${escapeHtml(text)}</a>`
}
