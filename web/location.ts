import { signal } from '@preact/signals'
import { addressOf, BASE, PLACE_PATH } from './service'

/**
 * State of the pages in the address: the last path segment is the name of the page, the query parameters are
 * the rest. The page of a place (/r/<chain>/<uid>) is the explorer with the parameter `record`. Explorer,
 * playground and attest page are actions on one map, and each keeps its parameters while another one is
 * shown. Links and the browser's back and forward buttons work as usual.
 */

export type Page = 'explorer' | 'playground' | 'attest' | 'log'

/** Parameters of a page, and the number of times that an address opened it with other parameters. */
interface PageState {
  parameters: URLSearchParams
  visit: number
}

const none: PageState = { parameters: new URLSearchParams(), visit: 0 }
const states = signal<Readonly<Record<Page, PageState>>>({
  ...{ explorer: none, playground: none, attest: none, log: none },
})
/** Page that is shown. */
export const shownPage = signal<Page>(pageOf(location.pathname) ?? 'explorer')
arrive()
addEventListener('popstate', arrive)
addEventListener('click', followLink)

/** Parameters of a page; while another page is shown, its last ones. */
export const parametersOf = (page: Page): URLSearchParams => states.value[page].parameters
/** Number of the visit: it changes if an address opens the page with parameters other than its last ones. */
export const visitOf = (page: Page): number => states.value[page].visit

/** URL of a page with its last parameters. */
export function hrefOf(page: Page): string {
  const query = parametersOf(page).toString()
  return addressOf(`${page === 'explorer' ? '' : page}${query && `?${query}`}`)
}

/** Opens a page of this app, and adds an entry to the browser's history. */
export function goTo(href: string): void {
  history.pushState(null, '', href)
  arrive()
}

/** Shows the page of the address. */
function arrive(): void {
  const page = pageOf(location.pathname) ?? 'explorer'
  const parameters = new URLSearchParams(location.search)
  const place = placeIn(location.pathname)
  if (place !== undefined && !parameters.has('record')) parameters.set('record', place)
  const { visit, parameters: last } = states.peek()[page]
  if (String(parameters) !== String(last))
    states.value = { ...states.peek(), [page]: { parameters, visit: visit + 1 } }
  shownPage.value = page
}

/** Opens links to pages of this app without loading the app again. */
function followLink(event: MouseEvent): void {
  const link = (event.target as Element).closest('a')
  const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
  if (!link || !isPlain || event.defaultPrevented || link.target || link.hasAttribute('download')) return
  const { origin, pathname } = new URL(link.href)
  if (origin !== location.origin || pageOf(pathname) === undefined) return
  event.preventDefault()
  // Like a browser, adds no entry to the history for the address that is shown.
  if (link.href !== location.href) goTo(link.href)
}

/** Value of the parameter `record` for the path of a place. */
function placeIn(path: string): string | undefined {
  const [, chain, uid] = PLACE_PATH.exec(path) ?? []
  return chain && `${chain}-${uid}`
}

/** Page of this app at a path; undefined if the path is not one of this app. */
function pageOf(path: string): Page | undefined {
  const root = `${new URL(BASE).pathname.replace(/\/$/, '')}/`
  const name = path.startsWith(root) ? path.slice(root.length) : undefined
  if (name === 'playground' || name === 'attest' || name === 'log') return name
  return name === '' || PLACE_PATH.test(path) ? 'explorer' : undefined
}

/**
 * Changes parameters of a page without a new history entry. undefined removes a parameter. The address has
 * them only while the page is shown.
 */
export function setParameters(page: Page, changes: Record<string, string | undefined>): void {
  const { visit, parameters: last } = states.peek()[page]
  const parameters = new URLSearchParams(last)
  for (const [name, value] of Object.entries(changes))
    if (value === undefined) parameters.delete(name)
    else parameters.set(name, value)
  if (String(parameters) === String(last)) return
  states.value = { ...states.peek(), [page]: { parameters, visit } }
  if (page !== shownPage.peek()) return
  const place = placeIn(location.pathname)
  const isPlace = place !== undefined && parameters.get('record') === place
  const shown = new URLSearchParams(parameters)
  if (isPlace) shown.delete('record')
  const path = place === undefined || isPlace ? location.pathname : new URL(addressOf('')).pathname
  const query = shown.toString()
  history.replaceState(null, '', `${path}${query && `?${query}`}`)
}
