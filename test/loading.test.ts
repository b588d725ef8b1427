import path from 'node:path'
import { InvalidInputError, UnavailableError } from '@geospatial-attestation/client'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { rendered, settled } from './hooks'

/** The module, and its types without those of browsers, which this project does not have. */
const LOADING = path.resolve('web/loading.ts')
interface Loading {
  failureOf: (error: unknown, tries: number) => { text: string; retryIn: number | undefined }
  useLoaded: (
    key: string | undefined,
    load: () => Promise<string>,
    version?: string,
  ) => { data: string | undefined; isLoading: boolean; failure: { text: string } | undefined }
}
const PLAIN_RECORDS = path.resolve('web/map/plain-records.ts')
interface PlainRecords {
  usePlainRecords: (
    query: string,
    version: number,
  ) => { failure: { retryIn: number | undefined } | undefined }
}
const LIST = path.resolve('web/explorer/list.tsx')
interface List {
  useList: (query: string, version: number) => { data: { data: unknown[] } | undefined; more: () => void }
}
let loading: Loading
beforeAll(async () => {
  // Modules of pages read their address and language when they are loaded.
  vi.stubGlobal('location', new URL('http://127.0.0.1/'))
  vi.stubGlobal('navigator', { languages: ['en'] })
  vi.stubGlobal('document', { documentElement: {} })
  vi.stubGlobal('addEventListener', () => {})
  loading = (await import(LOADING)) as Loading
  await import(PLAIN_RECORDS)
  // The map needs the build of the pages.
  vi.doMock(path.resolve('web/map/world-map.tsx'), () => ({}))
  await import(LIST)
  vi.unstubAllGlobals()
})

test('a list requests all of its places at once, and the rest of a page that the service shortens', async () => {
  const { geoOnce } = (await import(path.resolve('web/service.ts'))) as {
    geoOnce: { records: { page: (query: any) => Promise<object> } }
  }
  const { useList } = (await import(LIST)) as List
  const asked: { limit: number; cursor?: string }[] = []
  const page = vi.spyOn(geoOnce.records, 'page').mockImplementation(({ limit, cursor }: any) => {
    asked.push({ limit, cursor })
    return Promise.resolve({
      data: Array.from({ length: Math.min(limit, 80) }),
      total: 500,
      next_cursor: `${asked.length}`,
    })
  })
  onTestFinished(() => page.mockRestore())
  let list = {} as ReturnType<typeof useList>
  const Page = () => {
    list = useList('chain=celo', 0)
    return null
  }
  const show = await rendered(Page, {})
  await settled()
  expect(list.data).toMatchObject({ data: { length: 50 }, total: 500, next_cursor: '1' })
  list.more()
  await settled()
  expect(list.data).toMatchObject({ data: { length: 100 }, total: 500, next_cursor: '3' })
  expect(asked).toEqual([{ limit: 50 }, { limit: 100 }, { limit: 20, cursor: '2' }])
  show(null)
})

test('requests without the client have a time limit', async () => {
  const limit = vi
    .spyOn(AbortSignal, 'timeout')
    .mockReturnValue(AbortSignal.abort(new DOMException('', 'TimeoutError')))
  const respond = vi.spyOn(globalThis, 'fetch').mockImplementation(async (_, options) => {
    options?.signal?.throwIfAborted()
    return Response.json({})
  })
  onTestFinished(() => [limit, respond].forEach((spy) => spy.mockRestore()))
  const { recordOf } = (await import(path.resolve('web/panel/input.ts'))) as {
    recordOf: (uid: string) => Promise<object>
  }
  await expect(recordOf(`0x${'12'.repeat(32)}`)).rejects.toThrow(DOMException)
})

const refused = { status: 503, title: 'Query too expensive', detail: 'Narrower.' }

test('pages repeat a 503 only if a retry can succeed, and show the remedy otherwise', () => {
  const { failureOf } = loading
  expect(failureOf(new InvalidInputError(refused), 0)).toEqual({
    text: 'Query too expensive: Narrower.',
    retryIn: undefined,
  })
  expect(failureOf(new UnavailableError({ ...refused, retryAfter: 5 }), 0)).toHaveProperty('retryIn', 5)
})

test('a page shows data that are slow to load, although newer data arrive faster', async () => {
  const seen = new Set<string | undefined>()
  const responses = new Map<string, () => void>()
  const Page = ({ version }: { version: string }) => {
    const load = () =>
      new Promise<string>((resolve) => responses.set(version, () => resolve(`data of ${version}`)))
    seen.add(loading.useLoaded('A', load, version).data)
    return null
  }
  const show = await rendered<{ version: string }>(Page, { version: '1' })
  await expect.poll(() => responses.has('1')).toBe(true)
  // Each render first runs the effects of the previous one.
  for (let version = 2; version <= 10; version++) show({ version: String(version) })
  responses.get('1')!()
  await expect.poll(() => [...seen]).toContain('data of 1')
  await expect.poll(() => responses.has('10')).toBe(true)
  responses.get('10')!()
  await expect.poll(() => [...seen].at(-1)).toBe('data of 10')
  show(null)
})

test('the map without WebGL loads again after a connection that stalls', async () => {
  const { usePlainRecords } = (await import(PLAIN_RECORDS)) as PlainRecords
  const seen = new Set<unknown>()
  const Page = () => {
    seen.add(usePlainRecords('', 1).failure?.retryIn)
    return null
  }
  let requests = 0
  vi.stubGlobal('fetch', (_: Request, { signal }: { signal: AbortSignal }) => {
    requests++
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error())))
  })
  vi.useFakeTimers()
  onTestFinished(() => {
    vi.useRealTimers()
    vi.unstubAllGlobals()
  })
  const show = await rendered(Page, {})
  await vi.advanceTimersByTimeAsync(130_000)
  expect([...seen]).toEqual([undefined, 2])
  expect(requests).toBe(2)
  show(null)
})

test('a page shows no state of a key as that of another key', async () => {
  interface Given {
    name: string
    version: string
  }
  const seen: unknown[] = []
  const Page = ({ name, version }: Given) => {
    const load = async () => {
      if (name === 'refused' || version === 'refused') throw new InvalidInputError(refused)
      return `data of ${name} ${version}`
    }
    const { data, isLoading, failure } = loading.useLoaded(name, load, version)
    const state = `${data} ${isLoading ? 'loading' : 'loaded'} ${failure ? 'failed' : ''}`.trim()
    if (seen.at(-1) !== state) seen.push(state)
    return null
  }
  const show = await rendered<Given>(Page, { name: 'A', version: '1' })
  const shown = async (name: string, version: string) => {
    seen.splice(0)
    show({ name, version })
    await settled()
    return [...seen]
  }
  expect(await shown('A', '1')).toContain('data of A 1 loaded')
  expect(await shown('B', '1')).toEqual(['data of A 1 loading', 'data of B 1 loaded'])
  expect(await shown('B', 'refused')).toEqual([
    ...['data of B 1 loaded', 'data of B 1 loading', 'data of B 1 loaded failed'],
  ])
  expect(await shown('A', '1')).toEqual(['data of B 1 loading', 'data of A 1 loaded'])
  expect(await shown('refused', '1')).toEqual(['data of A 1 loading', 'undefined loaded failed'])
  expect(await shown('A', '1')).toEqual(['undefined loading', 'data of A 1 loaded'])
  show(null)
})
