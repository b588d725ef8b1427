/** Parsers of the headers Accept and Accept-Encoding (RFC 9110, 12.5). */

/**
 * Parses the elements of a header with weights, in its order and in lower case, in linear time. A malformed q
 * (with a sign or an exponent, or without a digit) counts as 1.
 */
export function weighted(header = '') {
  const texts = header.slice(0, 2_000).toLowerCase().split(',')
  return texts.map((text, i) => {
    const [range = '', ...parameters] = text.split(';').map((part) => part.trim())
    const [q = 1] = parameters.flatMap((each) => /^q\s*=\s*(?=\.?\d)(\d*(?:\.\d*)?)$/.exec(each)?.[1] ?? [])
    return { range, q: Math.min(1, Number(q)), i }
  })
}

/** Returns the media type of the highest q, then the most specific, then the earliest range. */
function preferredType(accept: string | undefined, offered: readonly string[]): string | undefined {
  const ranges = weighted(accept)
  const acceptable = offered.flatMap((type) => {
    // From the least to the most specific range, whose q is that of the type.
    const matching = ['*/*', `${type.split('/')[0]}/*`, type]
    const closeness = matching.findLastIndex((each) => ranges.some(({ range }) => range === each))
    const closest = ranges.find(({ range }) => range === matching[closeness])
    return closest && closest.q > 0 ? [{ type, closeness, ...closest }] : []
  })
  return acceptable.sort((a, b) => b.q - a.q || b.closeness - a.closeness || a.i - b.i)[0]?.type
}

export function namesType(accept: string | undefined, type: string): boolean {
  return weighted(accept).some(({ range, q }) => range === type && q > 0)
}

const FOR_PROGRAMS = /^(application\/(.*json|\*)|text\/(csv|\*))$/
/** The default of Java's HttpURLConnection, which is not a browser although it names HTML. */
const JAVA = /^text\/html, image\/gif, image\/jpeg, (\*; q=0?\.2, )?\*\/\*; q=0?\.2$/

/**
 * True if the client is a browser: the header names HTML, with a q above that of all types for programs, and
 * not below that of all other types. A client without preferences counts as a program.
 */
export function prefersHtml(accept: string | undefined): boolean {
  if (accept === undefined || JAVA.test(accept)) return false
  const ranges = weighted(accept)
  const best = (types: RegExp) =>
    Math.max(-1, ...ranges.filter(({ range }) => types.test(range)).map(({ q }) => q))
  const html = best(/^text\/html$/)
  return html > 0 && html >= best(/^\*\/\*$/) && html > best(FOR_PROGRAMS)
}

/** Media types. The first one is the default for clients without a preference. */
export const MEDIA_TYPES = {
  json: 'application/json',
  geojson: 'application/geo+json',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv',
  geoparquet: 'application/vnd.apache.parquet',
  flatgeobuf: 'application/vnd.flatgeobuf',
  html: 'text/html',
} as const

export type FormatName = keyof typeof MEDIA_TYPES
/** Columnar formats, which need all their records before the response starts. */
export type ColumnarName = 'geoparquet' | 'flatgeobuf'
/** Columnar files by their format; `geoparquet2` is version 2 of GeoParquet. */
export type ColumnarKind = ColumnarName | 'geoparquet2'

export function isColumnar(format: FormatName): format is ColumnarName {
  return format === 'geoparquet' || format === 'flatgeobuf'
}

/**
 * Returns the format of the response: the parameter `format`, or the preferred one by Accept (RFC 9110,
 * 12.5.1: highest q, then most specific, then earliest); HTML for browsers only; JSON if no format is
 * acceptable.
 */
export function chooseFormat<Name extends FormatName>(
  given: Name | undefined,
  accept: string | undefined,
  offered: readonly Name[],
): Name {
  if (given !== undefined) return given
  if (offered.some((name) => name === 'html') && prefersHtml(accept)) return 'html' as Name
  const types = offered.filter((name) => name !== 'html').map((name) => MEDIA_TYPES[name])
  const preferred = preferredType(accept, types)
  return offered.find((name) => MEDIA_TYPES[name] === preferred) ?? offered[0]!
}
