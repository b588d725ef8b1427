import path from 'node:path'
import { expect, test, vi } from 'vitest'

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

test('a watch shows no changes of the watch before it', async () => {
  // Modules of pages read their address and language when they are loaded.
  vi.stubGlobal('location', new URL('http://127.0.0.1/'))
  vi.stubGlobal('navigator', { languages: ['en'] })
  vi.stubGlobal('document', { documentElement: {} })
  vi.stubGlobal('addEventListener', () => {})
  vi.doMock(MAP, () => ({ viewOr: (first: unknown) => first }))
  const { geo } = (await import(SERVICE)) as Service
  const stream = vi.spyOn(geo.records, 'stream').mockImplementation(async function* ({ chain }) {
    if (chain) yield { id: '1', kind: 'new', record: { chain, uid: '0x', memo: chain } }
  })
  try {
    const { watch, stopWatching, noticed } = (await import(WATCHING)) as Watching
    const titles = () => noticed.value.map(({ title }) => title)
    watch({ chain: 'celo' }, 'Celo')
    await expect.poll(titles).toEqual(['celo'])
    stopWatching()
    expect(titles()).toEqual(['celo'])
    watch({}, 'All')
    expect(titles()).toEqual([])
    stopWatching()
  } finally {
    stream.mockRestore()
    vi.doUnmock(MAP)
    vi.unstubAllGlobals()
  }
})
