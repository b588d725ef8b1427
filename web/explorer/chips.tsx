import { chainNamed } from '../../src/chains'
import { chainName } from '../chains'
import type { FilterName } from '../location'
import { say } from '../messages'
import { typedLengthText } from '../units'
import { activeFilters, filterValue, removeFilter } from './state'
import { dayText, lineText, shortHex } from './words'

/** Maximum number of characters of a value on a chip. */
const LONGEST = 40

/** Chips that remove the active filters. `onWatch` opens a watch of the filters. */
export function Chips({ onWatch }: { onWatch?: () => void }) {
  return (
    <ul class="chips" aria-label={say.chips.name}>
      {activeFilters().map((name) => {
        const text = filterText(name)
        return (
          <li key={name}>
            <button
              type="button"
              data-chip={name}
              aria-label={say.chips.remove(text)}
              onClick={({ currentTarget }) => {
                const item = currentTarget.parentElement!
                const neighbour = item.nextElementSibling ?? item.previousElementSibling
                // The last chip above a form has no neighbour.
                const next =
                  neighbour?.querySelector('button') ??
                  item.closest('.panel')?.querySelector<HTMLElement>('select, textarea')
                removeFilter(name)
                next?.focus()
              }}
            >
              <bdi>{text}</bdi> <span aria-hidden="true">✕</span>
            </button>
          </li>
        )
      })}
      {onWatch && (
        <li>
          <button type="button" class="watch" onClick={onWatch}>
            {say.chips.watch}
          </button>
        </li>
      )}
    </ul>
  )
}

/** Filters as text: `Chain: Celo, Memo: tower`. */
export const filtersText = (): string => activeFilters().map(filterText).join(', ')

const filterText = (name: FilterName) => `${say.chips.labels[name]}: ${valueText(name, filterValue(name)!)}`

/** Value of a filter as text. */
export function valueText(name: FilterName, value: string): string {
  switch (name) {
    case 'chain':
      return value
        .split(',')
        .map((name) => chainName(chainNamed(name)?.slug ?? name))
        .join(', ')
    case 'revoked':
      return value === 'true' ? say.filters.revoked : value === 'false' ? say.filters.active : value
    case 'bbox':
      return say.chips.drawnBox
    case 'near':
      return say.chips.near(value, radiusText(filterValue('radius')))
    case 'prover':
    case 'subject':
    case 'schema':
      return value.split(',').map(shortHex).join(', ')
    case 'fromTimestamp':
    case 'toTimestamp': {
      // Bounds are exclusive: a millisecond before the first day, and the start of the day after the last.
      const inside = new Date(Date.parse(value) + (name === 'fromTimestamp' ? 1 : -1)).getTime()
      return Number.isNaN(inside) ? value : dayText(inside)
    }
    default:
      return lineText(value, LONGEST)
  }
}

const radiusText = (radius = ''): string =>
  radius.trim() && Number.isFinite(Number(radius)) ? typedLengthText(Number(radius)) : radius
