// SPDX-License-Identifier: MIT
import type { RecordEvent, StreamOptions } from '@geospatial-attestation/client'
import { exitCodeOfStop } from './exit'
import { time } from './output'
import { filtersOf, type RecordFlags } from './records'
import type { Session } from './session'

interface WatchFlags extends RecordFlags {
  after?: string
}

export async function watch(session: Session<WatchFlags>): Promise<number> {
  const { options, geo, signal, note } = session
  let position = options.after
  const settings: StreamOptions = {
    ...(await filtersOf(session)),
    ...{ after: options.after, signal },
    onPosition: (id) => (position = id),
    onOpen: () => note(`Watching ${geo.url}. Press Ctrl-C to stop.`),
    onDrop: () => note('The connection was lost. Reconnecting.'),
  }
  for await (const event of geo.records.stream(settings)) {
    if (options.json) session.printJson(event)
    else session.print(lineOf(event, session))
  }
  if (position !== undefined) note(`Stopped. To resume, repeat the command with --after '${position}'.`)
  return exitCodeOfStop(signal.reason, note)
}

function lineOf(event: RecordEvent, { paint }: Session): string {
  const kind = event.kind.padEnd('reorged'.length)
  if (event.kind === 'reset')
    return `${paint.bad(kind)}  the position is not valid any more: load the list again (${event.reason})`
  if ('gone' in event) {
    const cause = event.kind === 'reorged' ? 'removed by a reorg' : 'was never on the chain'
    return `${paint.bad(kind)}  ${event.gone.uid}  ${event.gone.chain}  ${cause}`
  }
  const { uid, chain, timestamp, location_type, longitude, latitude, memo } = event.record
  const position = longitude === null ? '' : `${longitude},${latitude}`
  const painted = event.kind === 'new' ? paint.good(kind) : paint.bad(kind)
  return [painted, uid, chain, time(timestamp), location_type, position, memo ?? ''].join('  ').trimEnd()
}
