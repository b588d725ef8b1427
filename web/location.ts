import { signal } from '@preact/signals'
import { addressOf, PLACE_PATH } from './service'

/**
 * State of the page in its address: the last path segment is the name of the page, the query parameters are
 * the rest. The page of a place (/r/<chain>/<uid>) is the explorer with the parameter `record`. Links and the
 * browser's back and forward buttons work as usual.
 */

export type Page = 'explorer' | 'playground' | 'attest' | 'log'

const read = () => {
  const parameters = new URLSearchParams(location.search)
  const place = placeIn(location.pathname)
  if (place !== undefined && !parameters.has('record')) parameters.set('record', place)
  return { page: pageOf(location.pathname), parameters }
}

/** Value of the parameter `record` for the path of a place. */
function placeIn(path: string): string | undefined {
  const [, chain, uid] = PLACE_PATH.exec(path) ?? []
  return chain && `${chain}-${uid}`
}

function pageOf(path: string): Page {
  const last = path.slice(path.lastIndexOf('/') + 1)
  return last === 'playground' || last === 'attest' || last === 'log' ? last : 'explorer'
}

export const here = signal(read())
addEventListener('popstate', () => (here.value = read()))

/** Opens a page, and adds an entry to the browser's history. */
export function goTo(page: Page, parameters: URLSearchParams = new URLSearchParams()): void {
  const query = parameters.toString()
  const path = new URL(addressOf(page === 'explorer' ? '' : page)).pathname
  history.pushState(null, '', `${path}${query && `?${query}`}`)
  here.value = read()
}

/** Changes parameters in the address without a new history entry. undefined removes a parameter. */
export function setParameters(changes: Record<string, string | undefined>): void {
  const parameters = new URLSearchParams(here.value.parameters)
  for (const [name, value] of Object.entries(changes))
    if (value === undefined) parameters.delete(name)
    else parameters.set(name, value)
  let { pathname } = location
  const place = placeIn(pathname)
  if (place !== undefined && parameters.get('record') === place) parameters.delete('record')
  else if (place !== undefined) ({ pathname } = new URL(addressOf('')))
  const query = parameters.toString()
  if (pathname === location.pathname && query === location.search.slice(1)) return
  history.replaceState(null, '', `${pathname}${query && `?${query}`}`)
  here.value = read()
}
