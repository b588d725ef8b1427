import path from 'node:path'
import { expect, test, vi } from 'vitest'

/** The modules, and their types without those of browsers, which this project does not have. */
const [LIVE, SERVICE] = [path.resolve('web/map/live.ts'), path.resolve('web/service.ts')]
interface Live {
  followChanges: (filters: object, onChanges: (changes: object[]) => void, onReset: () => void) => () => void
}
interface Service {
  geoOnce: { records: { stream: (options: StreamOptions) => AsyncIterable<object> } }
}
interface StreamOptions {
  after?: string
  signal: AbortSignal
  onOpen: () => void
  onDrop: () => void
  onPosition: (id: string) => void
}

/** Runs a test with the clock, in a page that is hidden or visible, and with these streams. */
async function onPage(
  stream: Service['geoOnce']['records']['stream'],
  run: (turn: (isHidden: boolean) => Promise<unknown>, follow: Live['followChanges']) => Promise<void>,
) {
  const page = Object.assign(new EventTarget(), { hidden: true })
  vi.stubGlobal('location', new URL('http://127.0.0.1/'))
  vi.stubGlobal('document', page)
  vi.useFakeTimers()
  const { geoOnce } = (await import(SERVICE)) as Service
  const spy = vi.spyOn(geoOnce.records, 'stream').mockImplementation(stream)
  const turn = (isHidden: boolean) => {
    page.hidden = isHidden
    page.dispatchEvent(new Event('visibilitychange'))
    return vi.advanceTimersByTimeAsync(60_000)
  }
  try {
    await run(turn, ((await import(LIVE)) as Live).followChanges)
  } finally {
    spy.mockRestore()
    vi.useRealTimers()
    vi.unstubAllGlobals()
  }
}

test('a page has a connection only while it is visible, and misses no change', async () => {
  const connections: (StreamOptions & { isOpen: boolean })[] = []
  const stream = async function* (options: StreamOptions) {
    const connection = { ...options, isOpen: true }
    connections.push(connection)
    options.onOpen()
    if (connections.length > 1) options.onPosition(`${connections.length}`)
    await new Promise((resolve) => options.signal.addEventListener('abort', resolve))
    connection.isOpen = false
    yield* []
  }
  await onPage(stream, async (turn, follow) => {
    const seen: string[] = []
    const stop = follow(
      {},
      () => {},
      () => seen.push('reset'),
    )
    for (const isHidden of [true, false, true, false, true, false]) await turn(isHidden)
    // The first connection reported no position, so that the second one cannot resume there.
    expect(connections.map(({ after, isOpen }) => [after, isOpen])).toEqual([
      [undefined, false],
      [undefined, false],
      ['2', true],
    ])
    expect(seen).toEqual(['reset', 'reset'])
    stop()
    await vi.advanceTimersByTimeAsync(0)
    expect(connections.at(-1)!.isOpen).toBe(false)
  })
})

test('a page whose connection dropped before it was hidden reloads everything when it is shown', async () => {
  const opened: (string | undefined)[] = []
  const stream = async function* ({ after, signal, onOpen, onDrop, onPosition }: StreamOptions) {
    opened.push(after)
    onOpen()
    onPosition('1')
    if (opened.length === 1) onDrop()
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    yield* []
  }
  await onPage(stream, async (turn, follow) => {
    await turn(false)
    const seen: string[] = []
    const stop = follow(
      {},
      () => {},
      () => seen.push('reset'),
    )
    for (const isHidden of [true, false, true, false]) await turn(isHidden)
    expect(opened).toEqual([undefined, '1', '1'])
    expect(seen).toEqual(['reset'])
    stop()
  })
})

test.each([
  [300, 300],
  [301, 'reset'],
  [10_000, 'reset'],
])('a page that is shown again after %d changes shows %s', async (changes, shown) => {
  const stream = async function* ({ after, signal, onOpen, onPosition }: StreamOptions) {
    onOpen()
    onPosition('1')
    if (after === undefined) await new Promise((resolve) => signal.addEventListener('abort', resolve))
    else for (let i = 0; i < changes; i++) yield { id: String(i), kind: 'new', record: {} }
  }
  await onPage(stream, async (turn, follow) => {
    await turn(false)
    const seen: unknown[] = []
    const stop = follow(
      {},
      (batch) => seen.push(batch.length),
      () => seen.push('reset'),
    )
    await turn(true)
    expect(seen).toEqual([])
    await turn(false)
    expect(seen).toEqual([shown])
    stop()
  })
})
