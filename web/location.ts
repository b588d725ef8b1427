import { signal } from '@preact/signals'

/**
 * The address has the state of the page: its name is the last path segment, the rest are query parameters.
 * Links and the buttons of the browser work as usual.
 */

export type Page = 'explorer' | 'playground' | 'attest'

const read = () => ({ page: pageOf(location.pathname), parameters: new URLSearchParams(location.search) })

function pageOf(path: string): Page {
  const last = path.slice(path.lastIndexOf('/') + 1)
  return last === 'playground' || last === 'attest' ? last : 'explorer'
}

export const here = signal(read())
addEventListener('popstate', () => (here.value = read()))

/** Opens a page, with a step in the browser's history. */
export function goTo(page: Page, parameters: URLSearchParams = new URLSearchParams()): void {
  const query = parameters.toString()
  history.pushState(null, '', `${page === 'explorer' ? '.' : page}${query && `?${query}`}`)
  here.value = read()
}

/** Changes parameters of this page in place; undefined removes one. */
export function setParameters(changes: Record<string, string | undefined>): void {
  const parameters = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(changes))
    if (value === undefined) parameters.delete(name)
    else parameters.set(name, value)
  const query = parameters.toString()
  if (query === location.search.slice(1)) return
  history.replaceState(null, '', `${location.pathname}${query && `?${query}`}`)
  here.value = read()
}
