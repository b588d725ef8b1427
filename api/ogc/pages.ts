import type { Collection, Link } from './documents'
import type { OgcOpenApi } from './openapi'
import type { Bbox } from '../store'
import { drawMap, type Feature, featureBody, headline, REVOKED, titleOf } from '../pages'
import { type Html, html, joined, trusted } from '../http/html'
import { definitions, list, type Page, page, type Trail } from '../http/pages'

/**
 * Documents of OGC API - Features as HTML 5 pages, with all content and all links of the JSON
 * (/req/html/content).
 */

export function documentPage(
  title: string,
  trail: Trail,
  links: readonly Link[],
  body: Html,
  heading = 'Links',
): Page {
  return page(title, trail, html`${body}${linkList(heading, links)}`)
}

export function conformanceBody({ conformsTo }: { conformsTo: readonly string[] }): Html {
  return html`<p>This service conforms to OGC API - Features, Part 1: Core and Part 3: Filtering, to CQL2, and to OGC API - Tiles, Part 1: Core. The conformance classes that it implements:</p>${list(conformsTo.map((uri) => html`<code>${uri}</code>`))}`
}

export function collectionsBody(collections: readonly Collection[]): Html {
  return html`${collections.map((collection) => html`<h2>${collection.title}</h2>${collectionBody(collection)}${linkList('Links', collection.links)}`)}`
}

export function collectionBody({ id, description, itemType, crs, extent }: Collection): Html {
  const { spatial, temporal } = extent
  return html`<p>${description}</p>${definitions({
    id,
    itemType,
    crs: crs.join(', '),
    'spatial extent': `${spatial.bbox.map((box) => box.join(', ')).join('; ')} (${spatial.crs})`,
    ...(temporal && {
      'temporal extent': `${temporal.interval.map(([first, last]) => `${first} to ${last}`).join('; ')} (${temporal.trs})`,
    }),
  })}`
}

/** Page of features. @param order phrase for the order @param box requested box */
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
  order: string,
  box?: Bbox,
): Page {
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
    ...(left ? [`${left} are too large to draw.`] : []),
  ]
  const paging = links
    .filter(({ rel }) => rel === 'next' || rel === 'first')
    .map((each) => linkTo(each, each.rel === 'next' ? 'Next page' : 'First page'))
  const details = features.map(
    ({ id, geometry, properties }) =>
      html`<details><summary>${String(properties.timestamp)} <span class="kind">${String(properties.chain)}, ${geometry?.type ?? 'no geometry'}</span>${properties.revoked === true && REVOKED} <bdi>${headline(properties)}</bdi></summary>
<p><a href="${itemHref(id)}"><code>${id}</code></a></p>${definitions({ ...properties, geometry })}</details>`,
  )
  return page(
    'Location records',
    trail,
    html`<p>${numberReturned.toLocaleString('en')} of ${numberMatched === undefined ? 'many' : numberMatched.toLocaleString('en')} records, ${order}, as of ${timeStamp}. ${notes.join(' ')}</p>
${trusted(svg)}<div class="pages">${paging}</div>${joined(details, '\n')}<div class="pages">${paging}</div>${linkList('Links', links)}`,
  )
}

export function itemPage(feature: Feature & { links: readonly Link[] }, trail: Trail): Page {
  const self = feature.links.find(({ rel }) => rel === 'self')!.href
  return page(
    headline(feature.properties) || 'A location record',
    trail,
    html`${featureBody(feature, self)}${linkList('Links', feature.links)}`,
  )
}

export function jsonBody(document: object, note?: string): Html {
  return html`${note !== undefined && html`<p>${note}</p>`}<pre>${JSON.stringify(document, null, 2)}</pre>`
}

/** Body of the page of the API's definition: summaries of its operations, then the whole document. */
export function apiBody(document: OgcOpenApi): Html {
  const sections = Object.entries(document.paths).map(([path, { get }]) => {
    const parameters = get.parameters.map(({ $ref }) => {
      const { name, description } = document.components.parameters[$ref.split('/').at(-1)!]!
      return [name, description] as const
    })
    return html`<h2><code>GET ${path}</code></h2><p>${get.summary}</p>${definitions(Object.fromEntries(parameters))}`
  })
  return html`<p>${document.info.description}</p>${sections}<h2>OpenAPI document</h2><pre>${JSON.stringify(document, null, 2)}</pre>`
}

function linkList(title: string, links: readonly Link[]): Html {
  return html`<h2>${title}</h2>${list(links.map((each) => html`${linkTo(each, each.title)} <span class="note">${each.rel}, ${each.type}</span>`))}`
}

/** Link on a page. A link to JSON gets `f=json`, because a browser would otherwise get HTML again. */
function linkTo({ href, rel, type }: Link, text: string): Html {
  const to =
    type.includes('json') && !/[?&]f=/.test(href) ? `${href}${href.includes('?') ? '&' : '?'}f=json` : href
  return html`<a href="${to}" rel="${rel}" type="${type}">${text}</a>`
}
