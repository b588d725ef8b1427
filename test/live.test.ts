import path from 'node:path'
import { expect, test, vi } from 'vitest'

/** The modules, and their types without those of browsers, which this project does not have. */
const [LIVE, SERVICE] = [path.resolve('web/map/live.ts'), path.resolve('web/service.ts')]
interface Live {
  followChanges: (filters: object, onChanges: (changes: object[]) => void, onReset: () => void) => () => void
}
interface Service {
  geoOnce: { records: { stream: () => AsyncIterable<object> } }
}

test.each([
  [300, 300],
  [301, 'reset'],
  [10_000, 'reset'],
])('a page that was hidden for %d changes shows %s', async (changes, shown) => {
  const page = Object.assign(new EventTarget(), { hidden: true })
  vi.stubGlobal('location', new URL('http://127.0.0.1/'))
  vi.stubGlobal('document', page)
  vi.useFakeTimers()
  const { geoOnce } = (await import(SERVICE)) as Service
  const stream = vi.spyOn(geoOnce.records, 'stream').mockImplementation(async function* () {
    for (let i = 0; i < changes; i++) yield { id: String(i), kind: 'new', record: {} }
  })
  const seen: unknown[] = []
  try {
    const { followChanges } = (await import(LIVE)) as Live
    const stop = followChanges(
      {},
      (batch) => seen.push(batch.length),
      () => seen.push('reset'),
    )
    await vi.advanceTimersByTimeAsync(60_000)
    expect(seen).toEqual([])
    page.hidden = false
    page.dispatchEvent(new Event('visibilitychange'))
    await vi.advanceTimersByTimeAsync(60_000)
    expect(seen).toEqual([shown])
    stop()
  } finally {
    stream.mockRestore()
    vi.useRealTimers()
    vi.unstubAllGlobals()
  }
})
