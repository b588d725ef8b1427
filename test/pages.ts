/** Elements that every page of ours may have: none that runs, loads or submits anything. */
const ELEMENTS = [
  ...['!doctype', 'html', 'head', 'meta', 'title', 'style', 'body', 'header', 'main', 'nav', 'a', 'h1', 'h2'],
  ...['p', 'ul', 'li'],
  ...['dl', 'dt', 'dd', 'bdi', 'pre', 'code', 'span', 'div', 'svg', 'g', 'path', 'text', 'circle'],
]

/** What all pages have in common above their own text. */
export const HEADER = /<header[^]*<\/header>/

/** The addresses that a page leads to or loads, each as a browser resolves it. */
export function addressesOf(html: string, at: string): string[] {
  return [...html.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, to]) => new URL(to!, at).href)
}

/** The elements of a page that are neither in ELEMENTS nor among these, in lower case. */
export function foreignElements(html: string, also: readonly string[]): string[] {
  return [...html.matchAll(/<([a-z!][a-z0-9-]*)/gi)]
    .map(([, name]) => name!.toLowerCase())
    .filter((name) => !ELEMENTS.includes(name) && !also.includes(name))
}
