/** Elements that every page may contain: they run no code, load nothing and submit nothing. */
const ELEMENTS = [
  ...['!doctype', 'html', 'head', 'meta', 'title', 'style', 'body', 'header', 'main', 'nav', 'a', 'h1', 'h2'],
  ...['p', 'ul', 'li'],
  ...['dl', 'dt', 'dd', 'bdi', 'pre', 'code', 'span', 'div', 'details', 'summary', 'b', 'svg', 'g'],
  ...['path', 'text', 'circle'],
]

/** The common header of all pages. */
export const HEADER = /<header[^]*<\/header>/

/** URLs that a page links to or loads, each as a browser resolves it. */
export function addressesOf(html: string, at: string): string[] {
  return [...html.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, to]) => new URL(to!, at).href)
}

/** Elements of a page that are neither in ELEMENTS nor in `also`, in lower case. */
export function foreignElements(html: string, also: readonly string[]): string[] {
  return [...html.matchAll(/<([a-z!][a-z0-9-]*)/gi)]
    .map(([, name]) => name!.toLowerCase())
    .filter((name) => !ELEMENTS.includes(name) && !also.includes(name))
}
