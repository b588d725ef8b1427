import { Card } from '../card'
import type { RecordKey } from '../map/record-layers'
import { CopyButton } from '../copy-button'
import { say } from '../messages'
import { BASE } from '../service'
import type { Watched } from './place-watch'
import { linesOf, noticed, stopWatching, watch, WATCHED, watching, type WatchFilters } from './watching'

interface WatchProps extends Watched {
  onClose: () => void
  onSelect: (record: RecordKey) => void
}
/** Panel of a watch: notifications while the page is open, and commands that watch without the page. */
export function Watch({ filters, text, opener, onClose, onSelect }: WatchProps) {
  const known = Object.entries(filters).filter(([name]) => WATCHED.some((each) => each === name))
  const ignored = Object.keys(filters).filter((name) => !WATCHED.some((each) => each === name))
  const watched = Object.fromEntries(known) as WatchFilters
  const lines = linesOf(watched, BASE)
  const running = watching.value
  const isRunning = JSON.stringify(running?.filters) === JSON.stringify(watched)
  const labels = say.chips.labels as Readonly<Record<string, string>>
  const start = () => {
    // Browsers show the permission dialog during a click only.
    if ('Notification' in globalThis && Notification.permission === 'default')
      void Notification.requestPermission()
    watch(watched, text || say.watch.everything)
  }
  return (
    <Card kind="watch-panel" name={say.watch.title} close={say.watch.close} {...{ opener, onClose }}>
      <p>
        <bdi>{say.watch.meaning(text || say.watch.everything)}</bdi>
      </p>
      {ignored.length > 0 && (
        <p class="notice">{say.watch.ignored(ignored.map((name) => labels[name] ?? name).join(', '))}</p>
      )}
      {running && !isRunning && <p class="notice">{say.watch.other(running.text)}</p>}
      <p class="card-actions">
        {!isRunning && (
          <button type="button" onClick={start}>
            {say.watch.start}
          </button>
        )}
        {running && (
          <button type="button" onClick={stopWatching}>
            {say.watch.stop}
          </button>
        )}
      </p>
      <Changes onSelect={onSelect} />
      <h3>{say.watch.elsewhere}</h3>
      {(['cli', 'stream', 'webhook'] as const).map((name) => (
        <details key={name} data-line={name}>
          <summary>{say.watch[name]}</summary>
          <CopyButton text={lines[name]} what={say.watch[name]} />
          <pre tabIndex={0}>{lines[name]}</pre>
        </details>
      ))}
    </Card>
  )
}

/** State of the running watch, and the changes that it reported. */
function Changes({ onSelect }: { onSelect: (record: RecordKey) => void }) {
  const { state, hasGap } = watching.value ?? {}
  const isDenied = 'Notification' in globalThis && Notification.permission === 'denied'
  return (
    <div role="status" data-watching={typeof state === 'object' ? 'refused' : state}>
      {state === 'live' && <p class="soft">{isDenied ? say.watch.denied : say.watch.watching}</p>}
      {state === 'lost' && <p class="soft">{say.watch.lost}</p>}
      {typeof state === 'object' && <p class="notice">{say.watch.refused(state.refused)}</p>}
      {hasGap && <p class="notice">{say.watch.gap}</p>}
      <ol class="places">
        {noticed.value.map(({ id, kind, title, record }) => (
          <li key={`${id} ${record.uid}`}>
            <button type="button" class="place" onClick={() => onSelect(record)}>
              <b>{say.watch.kinds[kind]}</b>
              <span class="place-name">
                <bdi>{title}</bdi>
              </span>
            </button>
          </li>
        ))}
      </ol>
    </div>
  )
}
