import path from 'node:path'
import { expect, test, vi } from 'vitest'

/** The modules without their types: this project lacks those of browsers. */
const [RECORDS, LIBRARY] = ['records', 'library'].map((name) => path.resolve(`web/map/${name}.ts`)) as [
  string,
  string,
]
interface Records {
  addRecords: (
    map: object,
    start: { query: string; look: object },
    on: object,
  ) => { change: (events: object[]) => void; remove: () => void }
}

test('the map fades a revoked place on its chain until the tiles show it', async () => {
  // Modules of pages read their address and language when they are loaded.
  vi.stubGlobal('location', new URL('http://127.0.0.1/'))
  vi.stubGlobal('navigator', { languages: ['en'] })
  vi.stubGlobal('document', { documentElement: {}, createElement: () => ({}) })
  vi.stubGlobal('matchMedia', () => ({ matches: true }))
  vi.doMock(LIBRARY, () => ({ Marker: Mark, Popup: Mark }))
  class Mark {
    remove() {}
  }
  const states: Record<string, object> = {}
  const handlers: Record<string, () => void> = {}
  const element = new EventTarget()
  let isLoaded = true
  const map = {
    on: (type: string, handler: () => void) => {
      handlers[type] = handler
      return { unsubscribe: () => {} }
    },
    setFeatureState: ({ id }: { id: string }, state: object) => (states[id] = { ...states[id], ...state }),
    removeFeatureState: ({ id }: { id: string }, name: string) =>
      delete (states[id] as Record<string, unknown>)[name],
    getCanvasContainer: () => element,
    getSource: () => ({}),
    loaded: () => isLoaded,
    queryRenderedFeatures: () => [],
    ...{ addSource: () => {}, addLayer: () => {}, fire: () => {}, refreshTiles: () => {} },
  }
  try {
    const { addRecords } = (await import(RECORDS)) as Records
    const look = { by: 'chain', hidden: [] }
    const { change, remove } = addRecords(map, { query: '', look }, { onShown: () => {} })
    const record = {
      chain: 'celo',
      uid: '0x5a',
      revoked: true,
      longitude: null,
      latitude: null,
      problem: null,
    }
    change([{ kind: 'revoked', record }])
    expect(states).toEqual({ '0x5a': { 'faded celo': 1 } })
    handlers.idle!()
    expect(states).toEqual({ '0x5a': {} })

    // Tiles that were loading when the place changed are requested again.
    isLoaded = false
    change([{ kind: 'revoked', record }])
    isLoaded = true
    handlers.idle!()
    expect(states).toEqual({ '0x5a': { 'faded celo': 1 } })
    handlers.idle!()
    expect(states).toEqual({ '0x5a': {} })
    remove()
  } finally {
    vi.doUnmock(LIBRARY)
    vi.unstubAllGlobals()
  }
})
