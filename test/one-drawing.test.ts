import path from 'node:path'
import { expect, test, vi } from 'vitest'
import { rendered, settled } from './hooks'

/** The modules without their types: this project lacks those of browsers. */
const [USE_DRAWING, DRAWING] = ['use-drawing', 'drawing'].map((name) => path.resolve(`web/panel/${name}.ts`))
interface Field {
  drawing: string | undefined
  draw: (shape: string) => Promise<void>
  end: () => void
}

test('the map of two fields has one drawing at a time', async () => {
  // Modules of pages read their address and language when they are loaded.
  vi.stubGlobal('location', new URL('http://127.0.0.1/'))
  vi.stubGlobal('navigator', { languages: ['en'] })
  vi.stubGlobal('document', { documentElement: {} })
  const drawings = new Set<string>()
  vi.doMock(DRAWING!, () => ({
    draw: (_: unknown, shape: string) => {
      if (drawings.size > 0) throw new Error('Source "td-polygon" already exists.')
      drawings.add(shape)
      return { stop: () => drawings.delete(shape) }
    },
  }))
  const attributes = new Set<string>()
  const container = {
    setAttribute: (name: string) => attributes.add(name),
    removeAttribute: (name: string) => attributes.delete(name),
  }
  const map = {
    getContainer: () => container,
    getCanvas: () => new EventTarget(),
    on: () => ({ unsubscribe: () => {} }),
    doubleClickZoom: { disable: () => {}, enable: () => {} },
  }
  const { useDrawing } = (await import(USE_DRAWING!)) as {
    useDrawing: (on: typeof map, text: string, onActive: () => void, onText: () => void) => Field
  }
  const fields: Record<string, Field> = {}
  const Fields = ({ name }: { name: string }) => {
    fields[name] = useDrawing(
      map,
      '',
      () => {},
      () => {},
    )
    return null
  }
  const removeFirst = await rendered(Fields, { name: 'first' })
  const removeSecond = await rendered(Fields, { name: 'second' })
  const state = async () => {
    await settled()
    return [fields.first!.drawing, fields.second!.drawing, [...drawings], [...attributes]]
  }
  try {
    await state()
    await fields.first!.draw('polygon')
    expect(await state()).toEqual(['polygon', undefined, ['polygon'], ['data-drawing']])
    await fields.second!.draw('point')
    expect(await state()).toEqual([undefined, 'point', ['point'], ['data-drawing']])
    fields.first!.end()
    removeFirst(null)
    expect(await state()).toEqual([undefined, 'point', ['point'], ['data-drawing']])
    fields.second!.end()
    expect(await state()).toEqual([undefined, undefined, [], []])
  } finally {
    removeSecond(null)
    vi.doUnmock(DRAWING!)
    vi.unstubAllGlobals()
  }
})
