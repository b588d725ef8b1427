import type { Readiness } from '@geospatial-attestation/client'
import { useEffect, useState } from 'preact/hooks'
import { chainName } from '../chains'
import { useLoaded } from '../loading'
import { locale, say } from '../messages'
import { geoOnce } from '../service'
import { live } from '../map/live'
import { timeText } from './words'

const REFRESH_MS = 15_000
type ChainState = Readiness['chains'][string]

/** Indexed height of each chain, and the state of the connection to the stream. */
export function ChainStates() {
  const [version, setVersion] = useState(0)
  const { data, failure } = useLoaded('ready', (signal) => geoOnce.ready({ signal }), `${version}`)
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setVersion((before) => before + 1), REFRESH_MS)
    return () => clearInterval(timer)
  }, [])
  const chains = Object.entries(data?.chains ?? {})
  const late = chains.filter(([, { status }]) => status !== 'ready')
  const text = failure
    ? say.chains.unreachable
    : !data
      ? say.chains.checking
      : data.database !== 'connected'
        ? say.chains.noDatabase
        : late.length === 0
          ? say.chains.upToDate(chains.length)
          : say.chains.behind(late.length)
  const isReady = !failure && data?.database === 'connected' && late.length === 0
  return (
    <details class="chains floating">
      <summary>
        <span class={`lamp ${isReady && live.value === 'live' ? 'good' : 'bad'}`} aria-hidden="true" />
        <span role="status" class="live" data-live={live.value}>
          {say.chains.live[live.value]}
        </span>
        {' · '}
        {text}
      </summary>
      {failure && (
        <p>
          {failure.text} {say.chains.retrying}
        </p>
      )}
      {live.value === 'refused' && <p>{say.chains.refused}</p>}
      <dl>
        {chains.map(([slug, state]) => (
          <div key={slug}>
            <dt>{chainName(slug)}</dt>
            <dd>
              {say.chains.states[state.status]}
              {state.doubt && ` (${state.doubt})`}
              <br />
              <span class="soft">{blocksOf(state)}</span>
              {state.withheld_attestations > 0 && (
                <span class="soft">
                  <br />
                  {say.chains.withheld(state.withheld_attestations)}
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
  if (head === null) return say.chains.noBlock
  const [at, of] = [indexed ?? 0, head].map((block) => block.toLocaleString(locale)) as [string, string]
  return say.chains.block(at, of, lag ?? 0, time ? timeText(time) : '')
}
