import type { LocationRecord } from '@geospatial-attestation/client'
import { computed, signal } from '@preact/signals'
import { chainColour, kindOf } from '../chains'
import {
  filterNames,
  FILTERS,
  filtersIn,
  parametersOf,
  partsOf,
  setParameters,
  shownPage,
  type FilterName,
} from '../location'
import type { Box } from '../map/extent'
import { keyText, type RecordKey, type RecordsLook } from '../map/record-layers'
import { viewOr, type View } from '../map/world-map'

/** State of the explorer, in its address. Filters are those of docs/reference/records.md. */

export type Colouring = RecordsLook['by']

const FIRST_VIEW: View = { longitude: 10, latitude: 25, zoom: 1.2 }

const parameter = (name: string) => computed(() => parametersOf('explorer').get(name) ?? undefined)
const ofFilter = Object.fromEntries(FILTERS.map((name) => [name, parameter(name)])) as Record<
  FilterName,
  ReturnType<typeof parameter>
>

export const filterValue = (name: FilterName): string | undefined => ofFilter[name].value

/** Filters as a query of the Records API. */
export const filterQuery = computed(() => filtersIn(parametersOf('explorer')).toString())
export const setFilters = (changes: Partial<Record<FilterName, string | undefined>>): void =>
  setParameters(
    'explorer',
    Object.fromEntries(Object.entries(changes).map(([name, value]) => [name, value || undefined])),
  )
/** Names of the set filters. */
export const activeFilters = (): FilterName[] => filterNames(parametersOf('explorer'))
export const removeFilter = (name: FilterName): void =>
  setFilters(Object.fromEntries(partsOf(name).map((part) => [part, undefined])))

/** Chain of the question of the playground; undefined until it is known. */
export const askedChain = signal<string | undefined>(undefined)
/** Query of the records on the map: those that match the filters and, in the playground, can be inputs. */
export const mapQuery = computed(() => {
  if (shownPage.value !== 'playground') return filterQuery.value
  const query = new URLSearchParams(filterQuery.value)
  query.set('revoked', 'false')
  if (askedChain.value !== undefined) query.set('chain', askedChain.value)
  return query.toString()
})

/** Area filter, as drawn by the user. */
export const area = computed((): Box | undefined => {
  const numbers = filterValue('bbox')?.split(',').map(Number)
  return numbers?.length === 4 && numbers.every(Number.isFinite) ? (numbers as unknown as Box) : undefined
})
/** Text of a box for the API, widened to whole hundred-thousandths of a degree (about a metre). */
export function boxText([west, south, east, north]: Box): string {
  const down = (degrees: number) => Math.floor(degrees * 1e5) / 1e5
  const up = (degrees: number) => Math.ceil(degrees * 1e5) / 1e5
  return [
    ...[Math.max(-180, down(west)), Math.max(-90, down(south))],
    ...[Math.min(180, up(east)), Math.min(90, up(north))],
  ].join(',')
}

const selectedText = parameter('record')
/** Record whose sheet is open. */
export const selected = computed((): RecordKey | undefined => {
  const [, chain, uid] = /^([a-z0-9-]+)-(0x[0-9a-f]{64})$/i.exec(selectedText.value ?? '') ?? []
  return chain !== undefined && uid !== undefined ? { chain, uid: uid.toLowerCase() } : undefined
})
/** Opens the sheet of a record, which the browser's back button closes; undefined closes the sheet. */
export const select = (record: RecordKey | undefined): void =>
  setParameters(
    'explorer',
    { record: record && keyText(record) },
    record !== undefined && shownPage.peek() === 'explorer',
  )

const byText = parameter('by')
export const colouring = computed((): Colouring => (byText.value === 'type' ? 'type' : 'chain'))
const hideText = parameter('hide')
/** Names of legend entries that are hidden on the map. */
export const hidden = computed(() => (hideText.value ? [...new Set(hideText.value.split(','))] : []))
/** Legend entry of a record, by its chain or the kind of its location type. */
export const entryOf = ({ chain, location_type: type }: Pick<LocationRecord, 'chain' | 'location_type'>) =>
  colouring.value === 'chain' ? { name: chain, colour: chainColour(chain) } : kindOf(type)
export const setLook = (by: Colouring, hide: readonly string[]): void =>
  setParameters('explorer', { by: by === 'type' ? by : undefined, hide: hide.join(',') || undefined })

/** View of the map in the explorer's address; undefined if it contains none. */
export function namedView(): View | undefined {
  const [longitude, latitude, zoom] = (parametersOf('explorer').get('at') ?? '').split(',').map(Number)
  return [longitude, latitude, zoom].every((each) => Number.isFinite(each)) && Math.abs(latitude!) <= 90
    ? { longitude: longitude!, latitude: latitude!, zoom: zoom! }
    : undefined
}
export const firstView = (): View => namedView() ?? viewOr(FIRST_VIEW)
/** Writes the view into the explorer's address. Forms have none: the view may show a private place. */
export const keepView = ({ longitude, latitude, zoom }: View): void => {
  if (shownPage.peek() === 'explorer')
    setParameters('explorer', { at: `${longitude.toFixed(5)},${latitude.toFixed(5)},${zoom.toFixed(2)}` })
}
