import { signal } from '@preact/signals'
import { addressOf, BASE, PLACE_PATH } from './service'

/**
 * State of the pages in the address: the last path segment is the name of the page, the query parameters are
 * the rest. The page of a place (/r/<chain>/<uid>) is the explorer with the parameter `record`. Explorer,
 * playground and attest page are actions on one map, and each keeps its parameters while another one is
 * shown. They share the filters: those are parameters of the explorer, and in addresses of the other two one
 * parameter, a query of the Records API, because forms have fields of the same names. Links and the browser's
 * back and forward buttons work as usual.
 */

export type Page = 'explorer' | 'playground' | 'attest' | 'log'

/** Filters of the map by their names in the Records API (docs/reference/records.md). */
export const FILTERS = [
  ...['chain', 'prover', 'subject', 'schema', 'location_type', 'memo', 'revoked'],
  ...['fromTimestamp', 'toTimestamp', 'bbox', 'near', 'radius', 'intersects'],
] as const
export type FilterName = (typeof FILTERS)[number]
/** Address parameter of the forms for the filters. */
const FILTERS_PARAMETER = 'filters'
/** Maximum number of encoded characters of a form's parameters. Some servers reject much longer addresses. */
const LONGEST_QUERY = 6_000
const fits = (parameters: URLSearchParams) => parameters.toString().length <= LONGEST_QUERY
const hasForm = (page: Page) => page === 'playground' || page === 'attest'

/** Parameters of a page, and the number of times that an address opened it with other parameters. */
interface PageState {
  parameters: URLSearchParams
  visit: number
}

const none: PageState = { parameters: new URLSearchParams(), visit: 0 }
const states = signal<Readonly<Record<Page, PageState>>>({
  ...{ explorer: none, playground: none, attest: none, log: none },
})
const locked = signal<readonly Page[]>([])
/** True from the click that asks a wallet until its transaction is in a block: the form may not change. */
export const isLocked = (page: Page): boolean => locked.value.includes(page)
export function lock(page: Page, isLocking: boolean): void {
  const others = locked.peek().filter((each) => each !== page)
  locked.value = isLocking ? [...others, page] : others
}

/** Questions to the user before the contents of the form of a page are lost. */
const questions = new Map<Page, string>()
export function askBeforeLosing(page: Page, question: string | undefined): void {
  if (question === undefined) questions.delete(page)
  else questions.set(page, question)
}
const agrees = (question: string | undefined) => question === undefined || confirm(question)
/** False if the user keeps the forms: the log is the only page that removes them. */
const mayShow = (page: Page | undefined) =>
  page !== 'log' || shownPage.peek() === 'log' || agrees([...questions.values()][0])

/** Operators of a quorum in the address of a page; null if it names none. */
const namedOperators = () =>
  pageOf(location.pathname) === 'playground' ? new URLSearchParams(location.search).get('operators') : null
/** Operators to which the Content-Security-Policy of the loaded document allows requests. */
const allowedOperators = namedOperators()

/** Milliseconds to the next attempt to write an address that the browser refused. */
const WRITE_AGAIN_MS = 2_000
let writing: ReturnType<typeof setTimeout> | undefined
/** True if the next address that is written gets a new history entry, because the browser refused one. */
let isStepMissing = false

export const shownPage = signal<Page>(pageOf(location.pathname) ?? 'explorer')
arrive()
addEventListener('popstate', () => {
  if (mayShow(pageOf(location.pathname))) arrive()
  else writeAddress()
})
addEventListener('click', followLink)

/** Title of the place whose sheet is open. */
export const placeTitle = signal<string | undefined>(undefined)

/** Parameters of a page; while another page is shown, its last ones. */
export const parametersOf = (page: Page): URLSearchParams => states.value[page].parameters
/** Number of the visit: it changes if an address opens the page with parameters other than its last ones. */
export const visitOf = (page: Page): number => states.value[page].visit

/** URL of a page with its last parameters. */
export function hrefOf(page: Page): string {
  const query = addressedOf(page, states.value).toString()
  return addressOf(`${page === 'explorer' ? '' : page}${query && `?${query}`}`)
}

/**
 * Opens a page of this app, and adds an entry to the browser's history. Returns false if the user keeps the
 * contents of a form that the address would replace or remove.
 */
export function goTo(href: string): boolean {
  if (!mayShow(pageOf(new URL(href, location.href).pathname))) return false
  if (changeAddress(href, true)) return arrive()
  location.assign(href)
  return true
}

/**
 * Changes the address, as a new history entry if `isStep` is true. Returns false if the browser refuses the
 * change: Safari accepts 100 in 30 s.
 */
function changeAddress(href: string, isStep: boolean): boolean {
  try {
    if (isStep) history.pushState(null, '', href)
    else history.replaceState(null, '', href)
    return true
  } catch (error) {
    if ((error as Error).name === 'SecurityError') return false
    throw error
  }
}

/** Parameters of a page as in its address: those of a form include the filters of the map, if they fit. */
function addressedOf(page: Page, all: typeof states.value): URLSearchParams {
  const { parameters } = all[page]
  const filters = hasForm(page) ? filtersIn(all.explorer.parameters).toString() : ''
  if (!filters) return parameters
  const whole = new URLSearchParams(parameters)
  whole.set(FILTERS_PARAMETER, filters)
  return fits(whole) ? whole : parameters
}

/** Filters among the parameters, as a query of the Records API. */
export function filtersIn(parameters: URLSearchParams): URLSearchParams {
  const query = new URLSearchParams()
  for (const name of FILTERS) {
    const value = parameters.get(name)
    if (value) query.set(name, value)
  }
  return query
}

/** Parameters of a filter. The API rejects `near` without its radius, and the reverse. */
export const partsOf = (name: FilterName): FilterName[] => (name === 'near' ? ['near', 'radius'] : [name])

/** Names of the filters of a query. A radius is a part of `near`. */
export const filterNames = (query: URLSearchParams): FilterName[] =>
  FILTERS.filter((name) => query.get(name) && !(name === 'radius' && query.get('near')))

/** True if the filters of a query limit the area. */
export const hasArea = (query: URLSearchParams): boolean =>
  ['bbox', 'near', 'intersects'].some((name) => query.get(name))

/**
 * Replaces the map's filters by those in the address of a form. An address without filters keeps the map's
 * filters, so that a link from a place to a form does not reset the map.
 */
function takeFilters(given: string | null): void {
  const { visit, parameters: last } = states.peek().explorer
  if (given === null || given === String(filtersIn(last))) return
  const explorer = new URLSearchParams(last)
  for (const name of FILTERS) explorer.delete(name)
  for (const [name, value] of filtersIn(new URLSearchParams(given))) explorer.set(name, value)
  states.value = { ...states.peek(), explorer: { parameters: explorer, visit } }
}

/** Shows the page of the address. Returns false if the user keeps the form that the address would replace. */
function arrive(): boolean {
  const page = pageOf(location.pathname) ?? 'explorer'
  const parameters = new URLSearchParams(location.search)
  const filters = parameters.get(FILTERS_PARAMETER)
  if (hasForm(page)) parameters.delete(FILTERS_PARAMETER)
  const place = placeIn(location.pathname)
  if (place !== undefined && !parameters.has('record')) parameters.set('record', place)
  const { visit, parameters: last } = states.peek()[page]
  const isOther = String(parameters) !== String(last)
  const isKept = isOther && !isLocked(page) && !agrees(questions.get(page))
  if (!isKept && !isLocked(page)) {
    if (hasForm(page)) takeFilters(filters)
    if (isOther) states.value = { ...states.peek(), [page]: { parameters, visit: visit + 1 } }
  }
  shownPage.value = page
  isStepMissing = false
  if (hasForm(page)) writeAddress()
  const operators = namedOperators()
  if (operators !== null && operators !== allowedOperators && !isLocked(page)) location.reload()
  return !isKept
}

/** Opens links to pages of this app without loading the app again. */
function followLink(event: MouseEvent): void {
  const link = (event.target as Element).closest('a')
  const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
  if (!link || !isPlain || event.defaultPrevented || link.target || link.hasAttribute('download')) return
  const { origin, pathname } = new URL(link.href)
  if (origin !== location.origin || pageOf(pathname) === undefined) return
  event.preventDefault()
  // Adds no history entry for the address that is already shown, as browsers do.
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
 * Changes parameters of a page. undefined removes a parameter. They appear in the address only while the page
 * is shown. The history gets a new entry if `isStep` is true: the browser's back button then undoes the
 * change.
 */
export function setParameters(page: Page, changes: Record<string, string | undefined>, isStep = false): void {
  const { visit, parameters: last } = states.peek()[page]
  const parameters = new URLSearchParams(last)
  for (const [name, value] of Object.entries(changes))
    if (value === undefined) parameters.delete(name)
    else parameters.set(name, value)
  if (String(parameters) === String(last)) return
  states.value = { ...states.peek(), [page]: { parameters, visit } }
  writeAddress(isStep)
}

/** Writes the texts of a form that fit into its address, in order. Returns false if one does not fit. */
export function shareTexts(page: Page, texts: Readonly<Record<string, string>>): boolean {
  const query = new URLSearchParams(states.peek()[page].parameters)
  for (const name of Object.keys(texts)) query.delete(name)
  const shared = Object.entries(texts).map(([name, text]) => {
    if (text) query.set(name, text)
    const isShared = fits(query)
    if (!isShared) query.delete(name)
    return [name, (isShared && text) || undefined] as const
  })
  setParameters(page, Object.fromEntries(shared))
  return shared.every(([name, text]) => (text ?? '') === texts[name])
}

/**
 * Writes the shown page and its parameters into the address, as a new history entry if `isStep` is true. An
 * address that the browser refuses, for example while the user types, is written later.
 */
function writeAddress(isStep = false): void {
  clearTimeout(writing)
  const page = shownPage.peek()
  const parameters = new URLSearchParams(addressedOf(page, states.peek()))
  const place = placeIn(location.pathname)
  const isPlace = place !== undefined && parameters.get('record') === place
  if (isPlace) parameters.delete('record')
  const query = parameters.toString()
  const address = isPlace ? `${location.pathname}${query && `?${query}`}` : hrefOf(page)
  const { pathname, search } = new URL(address, location.href)
  const isShown = pathname === location.pathname && search === location.search
  isStepMissing = !isShown && (isStepMissing || isStep)
  if (isShown) return
  if (changeAddress(address, isStepMissing)) isStepMissing = false
  else writing = setTimeout(writeAddress, WRITE_AGAIN_MS)
}
