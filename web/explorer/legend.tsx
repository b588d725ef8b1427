import { chainColour, chainName, KINDS, OTHER_KIND, SLUGS } from '../chains'
import { say } from '../messages'
import { Dot } from './list'
import { colouring, hidden, setLook, type Colouring } from './state'

/** Legend of the colours. Each colour can be hidden and shown. */
export function Legend() {
  const by = colouring.value
  const groups =
    by === 'chain'
      ? SLUGS.map((slug) => ({ key: slug, name: chainName(slug), colour: chainColour(slug) }))
      : [...KINDS, OTHER_KIND].map(({ name, colour }) => ({
          key: name,
          name: say.legend.kinds[name],
          colour,
        }))
  const toggle = (key: string) =>
    setLook(
      by,
      hidden.value.includes(key) ? hidden.value.filter((each) => each !== key) : [...hidden.value, key],
    )
  return (
    <details class="legend floating" open={innerWidth > 700 && innerHeight > 600}>
      <summary>{say.legend.title}</summary>
      <label>
        {say.legend.colourBy}{' '}
        <select value={by} onChange={({ currentTarget }) => setLook(currentTarget.value as Colouring, [])}>
          <option value="chain">{say.legend.chain}</option>
          <option value="type">{say.legend.type}</option>
        </select>
      </label>
      <ul>
        {groups.map(({ key, name, colour }) => (
          <li key={key}>
            <button type="button" aria-pressed={!hidden.value.includes(key)} onClick={() => toggle(key)}>
              <Dot colour={colour} /> {name}
            </button>
          </li>
        ))}
      </ul>
      <p class="soft">{by === 'type' ? say.legend.meaningByType : say.legend.meaning}</p>
    </details>
  )
}
