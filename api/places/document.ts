import { lacksGeometry } from '../../src/location'
import { lineOf } from '../../src/words'
import { html } from '../http/html'
import { definitions } from '../http/pages'
import { headline } from '../pages'
import { PREVIEW_SIZE } from './preview'

/** Maximum number of characters of a value that is shown to browsers without scripts. */
const LINE = 500
const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })

/**
 * Returns the parts of a place's document that previews, search engines and browsers without scripts read.
 * @param properties record, as in JSON @param address URL of the page, without a trailing slash
 */
export function placeDocument(properties: Record<string, unknown>, address: string) {
  const title = titleOf(properties)
  const description = descriptionOf(properties)
  const image = `${address}/preview.png`
  const api = address.replace(/\/r\/([^/]+)\/([^/]+)$/, '/api/v0/location-records/$2?chain=$1')
  const meta = (property: string, content: string) => html`<meta property="${property}" content="${content}">`
  return {
    head: html`<title>${title} · attested places</title>
<meta name="description" content="${description}">
<link rel="canonical" href="${address}">
<link rel="alternate" type="application/json" href="${api}&format=json">
<link rel="alternate" type="application/geo+json" href="${api}&format=geojson">
${meta('og:type', 'website')}${meta('og:site_name', 'Attested places')}${meta('og:title', title)}${meta('og:description', description)}
${meta('og:url', address)}${meta('og:image', image)}${meta('og:image:type', 'image/png')}${meta('og:image:width', String(PREVIEW_SIZE.width))}${meta('og:image:height', String(PREVIEW_SIZE.height))}${meta('og:image:alt', `Map with ${title}`)}
<meta name="twitter:card" content="summary_large_image">`,
    noscript: html`<h1><bdi>${title}</bdi></h1><p>${description}</p><p><img src="${image}" alt="Map" width="600"></p>${definitions(shortOf(properties))}<p><a href="${api}&format=html">All data</a></p>`,
  }
}

/** Fields whose values are short: an attested text can have up to 100 kB. */
const shortOf = (properties: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(properties).filter(([, value]) => JSON.stringify(value).length <= LINE))

/** Title of a record: the beginning of its memo, otherwise its location type. */
const titleOf = (properties: Record<string, unknown>): string =>
  headline(properties) || `Attested ${lineOf(String(properties.location_type)).slice(0, 40) || 'place'}`

function descriptionOf(properties: Record<string, unknown>): string {
  const { chain, timestamp, prover, longitude, latitude, revoked, problem } = properties as Record<
    string,
    string
  > & { longitude: number | null; latitude: number | null; revoked: boolean; problem: string | null }
  return [
    `Attested on ${chain} on ${DAY.format(new Date(timestamp!))} by ${prover!.slice(0, 8)}…${prover!.slice(-4)}.`,
    ...(longitude !== null && latitude !== null ? [`Longitude ${longitude}, latitude ${latitude}.`] : []),
    ...(lacksGeometry(problem) ? ['Its location is ambiguous.'] : []),
    revoked ? 'Revoked by its attester.' : 'Not revoked. Check it in your browser.',
  ].join(' ')
}
