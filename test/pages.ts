/** Elements that every page of ours may have: none that runs, loads or submits anything. */
const ELEMENTS = [
  ...['!doctype', 'html', 'head', 'meta', 'title', 'style', 'body', 'nav', 'a', 'h1', 'h2', 'p', 'ul', 'li'],
  ...['dl', 'dt', 'dd', 'bdi', 'pre', 'code', 'span', 'div', 'svg', 'g', 'path', 'text', 'circle'],
]

/** The elements of a page that are neither in ELEMENTS nor among these, in lower case. */
export function foreignElements(html: string, also: readonly string[]): string[] {
  return [...html.matchAll(/<([a-z!][a-z0-9-]*)/gi)]
    .map(([, name]) => name!.toLowerCase())
    .filter((name) => !ELEMENTS.includes(name) && !also.includes(name))
}
