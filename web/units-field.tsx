import { say } from './messages'
import { Options } from './options'
import { setUnits, UNIT_SYSTEMS, units, type UnitSystem } from './units'

/** Choice of the units of lengths and areas, for all pages. */
export function UnitsField() {
  return (
    <label class="units">
      {say.units.label}{' '}
      <select
        value={units.value}
        onChange={({ currentTarget }) => setUnits(currentTarget.value as UnitSystem)}
      >
        <Options of={UNIT_SYSTEMS.map((system) => [system, say.units.names[system]])} />
      </select>
    </label>
  )
}
