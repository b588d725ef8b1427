/** What the header Accept prefers (RFC 9110, 12.5.1). */

export interface MediaRange {
  /** lower-case, such as `text/html`, `text/*` or everything */
  range: string
  /** from 0 to 1 */
  q: number
  /** 2 names a type, 1 all of a kind, 0 everything */
  closeness: number
}

/** The ranges of the header, in its order; a q that is malformed counts as 1. */
export function mediaRanges(accept = ''): MediaRange[] {
  return accept.slice(0, 2_000).toLowerCase().split(',').map(mediaRange)
}

function mediaRange(text: string): MediaRange {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim())
  const q = parameters
    .map((parameter) => /^q\s*=\s*([01](?:\.\d{0,3})?)$/.exec(parameter)?.[1])
    .find((given) => given !== undefined)
  return {
    range,
    q: q === undefined ? 1 : Math.min(1, Number(q)),
    closeness: range === '*/*' ? 0 : range.endsWith('/*') ? 1 : 2,
  }
}

/** Types that programs read, by name or by kind. */
const FOR_PROGRAMS = /^(application\/(.*json|\*)|text\/(csv|\*))$/
/** What Java's HttpURLConnection sends unless told otherwise: it names HTML, and is no browser. */
const JAVA = /^text\/html, image\/gif, image\/jpeg, (\*; q=0?\.2, )?\*\/\*; q=0?\.2$/

/**
 * Whether whoever asks is a browser: HTML is named, liked better than all that programs read, and no less than everything else. Programs that
 * say nothing, or only that they take everything, get what is for programs.
 */
export function prefersHtml(accept: string | undefined): boolean {
  if (accept === undefined || JAVA.test(accept)) return false
  const ranges = mediaRanges(accept)
  const best = (types: RegExp) =>
    Math.max(-1, ...ranges.filter(({ range }) => types.test(range)).map(({ q }) => q))
  const html = best(/^text\/html$/)
  return html > 0 && html >= best(/^\*\/\*$/) && html > best(FOR_PROGRAMS)
}
