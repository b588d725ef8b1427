import path from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

/** The modules without their types: this project lacks those of browsers. */
const [WATCHING, SERVICE, MAP] = ['watch/watching.ts', 'service.ts', 'map/world-map.tsx'].map((name) =>
  path.resolve('web', name),
) as [string, string, string]
interface Watching {
  watch: (filters: object, text: string) => void
  stopWatching: () => void
  noticed: { value: { title: string }[] }
}
interface Service {
  geo: { records: { stream: (options: { chain?: string }) => AsyncIterable<object> } }
}

beforeEach(() => {
  // Modules of pages read their address and language when they are loaded.
  vi.stubGlobal('location', new URL('http://127.0.0.1/'))
  vi.stubGlobal('navigator', { languages: ['en'] })
  vi.stubGlobal('document', { documentElement: {} })
  vi.stubGlobal('addEventListener', () => {})
  vi.doMock(MAP, () => ({ viewOr: (first: unknown) => first }))
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.doUnmock(MAP)
  vi.unstubAllGlobals()
})

test('a watch shows no changes of the watch before it', async () => {
  const { geo } = (await import(SERVICE)) as Service
  vi.spyOn(geo.records, 'stream').mockImplementation(async function* ({ chain }) {
    if (chain) yield { id: '1', kind: 'new', record: { chain, uid: '0x', memo: chain } }
  })
  const { watch, stopWatching, noticed } = (await import(WATCHING)) as Watching
  const titles = () => noticed.value.map(({ title }) => title)
  watch({ chain: 'celo' }, 'Celo')
  await expect.poll(titles).toEqual(['celo'])
  stopWatching()
  expect(titles()).toEqual(['celo'])
  watch({}, 'All')
  expect(titles()).toEqual([])
  stopWatching()
})

test('a watch notifies the user of each change of a record', async () => {
  const tags: string[] = []
  class Notification {
    static permission = 'granted'
    constructor(_title: string, { tag }: { tag: string }) {
      tags.push(tag)
    }
  }
  vi.stubGlobal('Notification', Notification)
  const { geo } = (await import(SERVICE)) as Service
  vi.spyOn(geo.records, 'stream').mockImplementation(async function* () {
    const record = { chain: 'celo', uid: '0x', memo: 'Kiosk' }
    yield { id: '1', kind: 'new', record }
    yield { id: '2', kind: 'revoked', record }
  })
  const { watch, stopWatching } = (await import(WATCHING)) as Watching
  watch({}, 'All')
  await expect.poll(() => tags.length).toBe(2)
  stopWatching()
  expect(new Set(tags).size).toBe(2)
})
