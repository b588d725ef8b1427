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
  'not started': 'not indexed yet',
  'reading history': 'catching up: older places will appear',
  lagging: 'behind: the newest places will appear',
  'node behind': 'paused: its RPC endpoint is behind the chain',
  'indexer silent': 'not updated for a while: new places may be missing',
  'in doubt': 'paused: its data is being checked',
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
    ? 'Cannot reach the service'
    : !data
      ? 'Checking ...'
      : data.database !== 'connected'
        ? 'Database unavailable'
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
      {failure && <p>{failure.text} Retrying automatically.</p>}
      {live.value === 'refused' && <p>Live updates were refused. Reload the page to try again.</p>}
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
  if (head === null) return 'Newest block unknown.'
  const behind = lag ? `, ${countText(lag, 'block')} behind` : ''
  return `Block ${(indexed ?? 0).toLocaleString('en')} of ${head.toLocaleString('en')}${behind}${time ? ` (${timeText(time)})` : ''}`
}
