import type { Readiness } from '@geospatial-attestation/client'
import { useEffect, useState } from 'preact/hooks'
import { chainName } from '../chains'
import { useLoaded } from '../loading'
import { geoOnce } from '../service'
import { live } from '../map/live'
import { countText, timeText } from './words'

const REFRESH_MS = 15_000
type ChainState = Readiness['chains'][string]

const STATES: Record<ChainState['status'], string> = {
  ready: 'up to date',
  'not started': 'not read yet: its indexer has not started',
  'reading history': 'its history is being read: older places are still to come',
  lagging: 'behind: the newest places are still to come',
  'node behind': 'its node is behind the chain',
  'indexer silent': 'its indexer has not looked for a while: new places may be missing',
  'in doubt': 'in doubt: what its nodes say is being checked',
}
const LIVE = {
  connecting: 'Connecting',
  live: 'Live',
  reconnecting: 'Reconnecting',
  refused: 'Not live',
}

/** Indexed height of each chain, and the state of the live connection. */
export function ChainStates() {
  const [round, setRound] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setRound((each) => each + 1), REFRESH_MS)
    return () => clearInterval(timer)
  }, [])
  const { data, failure } = useLoaded(`ready ${round}`, (signal) => geoOnce.ready({ signal }))
  const chains = Object.entries(data?.chains ?? {})
  const late = chains.filter(([, { status }]) => status !== 'ready')
  const text = failure
    ? 'Service out of reach'
    : !data
      ? 'Asking ...'
      : data.database !== 'connected'
        ? 'Database out of reach'
        : late.length === 0
          ? `${countText(chains.length, 'chain')} up to date`
          : `${countText(late.length, 'chain')} behind`
  const isWell = !failure && late.length === 0 && live.value === 'live'
  return (
    <details class="chains floating">
      <summary>
        <span class={`lamp ${isWell ? 'good' : 'bad'}`} aria-hidden="true" />
        <span role="status" class="live" data-live={live.value}>
          {LIVE[live.value]}
        </span>
        {' · '}
        {text}
      </summary>
      {failure && <p>{failure.text} It is asked again by itself.</p>}
      {live.value === 'refused' && <p>The stream of changes is refused: load the page again to try anew.</p>}
      <dl>
        {chains.map(([slug, state]) => (
          <div key={slug}>
            <dt>{chainName(slug)}</dt>
            <dd>
              {STATES[state.status]}
              {state.doubt && ` (${state.doubt})`}
              <br />
              <span class="soft">{blocksOf(state)}</span>
              {state.withheld_attestations > 0 && (
                <span class="soft">
                  <br />
                  {countText(state.withheld_attestations, 'attestation')} could not be stored
                </span>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </details>
  )
}

function blocksOf({
  head_block: head,
  indexed_block: indexed,
  lag_blocks: lag,
  head_time: time,
}: ChainState) {
  if (head === null) return 'Its head is not known.'
  const behind = lag ? `, ${countText(lag, 'block')} behind` : ''
  return `Block ${(indexed ?? 0).toLocaleString('en')} of ${head.toLocaleString('en')}${behind}${time ? ` (${timeText(time)})` : ''}`
}
