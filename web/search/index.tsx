import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { isField } from '../focus'
import { goTo, hrefOf, parametersOf, setParameters, shownPage } from '../location'
import { failureOf } from '../loading'
import { flyTo } from '../map/flight'
import { keyText } from '../map/record-layers'
import { say } from '../messages'
import type { Hit } from './find'
import './search.css'

/** Milliseconds without typing after which a search starts. */
const PAUSE_MS = 200

type State = { hits: readonly Hit[]; text: string; failure?: string }

/**
 * Search field of all pages, as a combobox (ARIA APG): `/` focuses it, arrow keys choose, Enter opens the
 * hit, Escape closes the list.
 */
export function Search() {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const [text, setText] = useState('')
  const [isOpen, setOpen] = useState(false)
  const [active, setActive] = useState(0)
  const found = useFound(text)
  const hits = isOpen && found ? found.hits : []
  /** false while the hits of an earlier text are shown, which no key chooses */
  const isCurrent = found?.text === text

  useShortcut(input)
  const go = (hit: Hit | undefined) => {
    if (!hit) return
    setOpen(false)
    input.current?.blur()
    void show(hit)
  }
  /** Text for which Enter was pressed before its hits were found. */
  const [entered, setEntered] = useState<string>()
  useEffect(() => {
    if (entered === undefined || found?.text !== entered) return
    setEntered(undefined)
    go(hits[0])
  }, [entered, found])
  const move = (step: number) =>
    isCurrent && hits.length > 0 && setActive((active + step + hits.length) % hits.length)
  return (
    <form role="search" class="search" onSubmit={(event) => event.preventDefault()}>
      <input
        ref={input}
        type="search"
        role="combobox"
        list={undefined}
        aria-label={say.search.name}
        aria-expanded={hits.length > 0}
        aria-controls={`${id}-hits`}
        aria-autocomplete="list"
        aria-activedescendant={hits[active] && `${id}-${active}`}
        placeholder={say.search.placeholder}
        autocomplete="off"
        spellcheck={false}
        enterkeyhint="search"
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value)
          setActive(0)
          setOpen(true)
          setEntered(undefined)
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={(event) => {
          const { key } = event
          // The keys of an input method choose among its own candidates. In Safari, the composition ends
          // before the Enter that accepts one, which has keyCode 229.
          if (event.isComposing || event.keyCode === 229) return
          if (key === 'ArrowDown') move(1)
          else if (key === 'ArrowUp') move(-1)
          else if (key === 'Enter')
            if (isCurrent) go(hits[active])
            else setEntered(text)
          else if (key === 'Escape') {
            event.stopPropagation()
            if (!isOpen || text === '') input.current?.blur()
            setOpen(false)
            return
          } else return
          event.preventDefault()
        }}
      />
      <Hits {...{ id, hits, active }} onChoose={go} />
      <p role="status" class={isOpen && found && hits.length === 0 ? 'hits none' : 'unseen'}>
        {!isOpen || !found
          ? ''
          : (found.failure ??
            (hits.length === 0 ? say.search.nothing(found.text) : say.search.found(hits.length)))}
      </p>
    </form>
  )
}

interface HitsProps {
  id: string
  hits: readonly Hit[]
  active: number
  onChoose: (hit: Hit) => void
}
/** The list of the combobox. A press keeps the focus in the field, whose loss would close the list. */
function Hits({ id, hits, active, onChoose }: HitsProps) {
  return (
    <ul
      id={`${id}-hits`}
      role="listbox"
      aria-label={say.search.results}
      class="hits"
      hidden={hits.length === 0}
    >
      {hits.map((hit, i) => (
        <li
          key={hit.key}
          id={`${id}-${i}`}
          role="option"
          aria-selected={i === active}
          data-kind={hit.kind}
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => onChoose(hit)}
        >
          <bdi>{hit.title}</bdi>
          <span class="soft">{hit.detail}</span>
        </li>
      ))}
    </ul>
  )
}

/** Results for the text, after PAUSE_MS without a change; undefined before the first results. */
function useFound(text: string): State | undefined {
  const [state, setState] = useState<State>()
  useEffect(() => {
    if (text.trim() === '') return setState(undefined)
    const leaving = new AbortController()
    let timer: ReturnType<typeof setTimeout>
    const search = async (tries: number) => {
      try {
        const { find } = await import('./find')
        const hits = await find(text, leaving.signal)
        if (!leaving.signal.aborted) setState({ hits, text })
      } catch (error) {
        if (leaving.signal.aborted) return
        const { text: failure, retryIn } = failureOf(error, tries)
        setState({ hits: [], text, failure })
        if (retryIn !== undefined) timer = setTimeout(() => void search(tries + 1), retryIn * 1000)
      }
    }
    timer = setTimeout(() => void search(0), PAUSE_MS)
    return () => {
      clearTimeout(timer)
      leaving.abort()
    }
  }, [text])
  return state
}

/** Focuses the field on `/` or Ctrl+K, unless the user types in another field. */
function useShortcut(input: { readonly current: HTMLInputElement | null }): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const isShortcut =
        event.key === '/'
          ? !isField(event.target as Element)
          : event.key === 'k' && (event.ctrlKey || event.metaKey)
      if (!isShortcut) return
      event.preventDefault()
      input.current?.focus()
      input.current?.select()
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  }, [])
}

/** hit that the user chose last: the geometry of an earlier one may arrive later */
let shown: Hit | undefined

/** Shows a hit: a position or town on the map, a place or an attester's places in the explorer. */
async function show(hit: Hit): Promise<void> {
  const { record, attester, features } = (shown = hit)
  const isOfExplorer = record !== undefined || attester !== undefined
  const page = shownPage.peek()
  setParameters(
    'explorer',
    {
      ...(record && { record: keyText(record) }),
      ...(attester !== undefined && { prover: attester }),
    },
    page === 'explorer',
  )
  if ((isOfExplorer && page !== 'explorer') || page === 'log') goTo(hrefOf('explorer'))
  const open = parametersOf('explorer').get('record')
  // The record is shown even if its geometry cannot be loaded.
  const found = await features().catch(() => [])
  // The user may have closed the place, or opened another one, meanwhile.
  if (shown === hit && parametersOf('explorer').get('record') === open) flyTo(found)
}
