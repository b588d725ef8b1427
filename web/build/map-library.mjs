import { createRequire } from 'node:module'
import path from 'node:path'

const SOURCE = path.join(
  path.dirname(createRequire(import.meta.url).resolve('maplibre-gl/package.json')),
  'src',
)
const WORKER_URL = 'virtual:map-worker-url'
/**
 * Modules of MapLibre that our maps do not need, and their replacements; saves 23 kB gzipped. The maps have
 * no MapLibre tiles (MLT) and no right-to-left labels, because names of cities are romanized
 * (web/build/basemap.mjs leaves out others).
 */
const LEFT_OUT = {
  'vector_tile_mlt.ts': `export class MLTVectorTile { constructor() { throw new Error('This build reads no MapLibre tiles.') } }`,
  'bidi-js': `export default () => ({
    getBidiCharTypeName: () => 'L',
    getMirroredCharacter: () => null,
    getEmbeddingLevels: ({ length }) => ({
      levels: new Uint8Array(length),
      paragraphs: [{ start: 0, end: length - 1, level: 0 }],
    }),
  })`,
}

/**
 * Bundles MapLibre from its sources: 314 kB gzipped instead of 442, because its built files contain twice
 * what page and worker share. The package is pinned, because its sources are not a public interface.
 */
export function mapLibrary() {
  return {
    name: 'map-library',
    enforce: 'pre',
    resolveId(id, importer) {
      if (id === 'maplibre-gl') return path.join(SOURCE, 'index.ts')
      const name = path.basename(id)
      if (Object.hasOwn(LEFT_OUT, name) && importer?.startsWith(SOURCE)) return `\0${name}`
      return id === WORKER_URL ? `\0${id}` : undefined
    },
    load(id) {
      if (id.startsWith('\0') && Object.hasOwn(LEFT_OUT, id.slice(1))) return LEFT_OUT[id.slice(1)]
      if (id !== `\0${WORKER_URL}`) return undefined
      const worker = this.emitFile({
        type: 'chunk',
        id: path.join(SOURCE, 'source/worker.ts'),
        name: 'map-worker',
      })
      return `export default import.meta.ROLLUP_FILE_URL_${worker}`
    },
  }
}
