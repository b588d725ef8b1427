import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

const SOURCE = path.join(
  path.dirname(createRequire(import.meta.url).resolve('maplibre-gl/package.json')),
  'src',
)
const WORKER_URL = 'virtual:map-worker-url'
/**
 * Modules of MapLibre that our maps do not need, and their replacements; saves 40 kB compressed. The maps
 * have no MapLibre tiles (MLT), and no right-to-left labels, because names of cities are romanized
 * (web/build/basemap.mjs leaves out others). Layers are not validated at run time; test/map-layers.test.ts
 * validates those of the records.
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
  'validate_style.ts': `export const validateStyle = {}, SPEC_SOURCE_TYPES = new Set()
    export const validateAndEmit = () => false, validateStyleAndEmit = validateAndEmit, emitValidationErrors = validateAndEmit`,
}
/** Modules of MapLibre for features that our maps do not have, whose exports become empty. */
const EMPTIED = new RegExp(
  `^(?:${[
    'draw_(?:hillshade|color_relief|fill_extrusion|debug|collision_debug)',
    '(?:hillshade|color_relief|fill_extrusion)_style_layer',
    'fill_extrusion_bucket',
    '(?:image|video|canvas|raster_dem_tile)_source',
    'raster_dem_tile_worker_source|tile_manager_raster_dem|dem_data',
    'terrain|terrain_tile_manager|render_to_texture',
    '(?:hillshade|color_relief|terrain|fill_extrusion)\\w*\\.(?:vertex|fragment)\\.glsl\\.g',
  ].join('|')})\\.ts$`,
)
const REPLACED = '\0replaced:'

/**
 * Bundles MapLibre from its sources, because its built files contain the modules that page and worker share
 * twice. The package is pinned, because its sources are not a public interface.
 */
export function mapLibrary() {
  return {
    name: 'map-library',
    enforce: 'pre',
    resolveId(id, importer) {
      if (id === 'maplibre-gl') return path.join(SOURCE, 'index.ts')
      if (!importer?.startsWith(SOURCE)) return id === WORKER_URL ? `\0${id}` : undefined
      const name = path.basename(id)
      if (LEFT_OUT[name]) return REPLACED + name
      return EMPTIED.test(name) ? REPLACED + path.resolve(path.dirname(importer), id) : undefined
    },
    load(id) {
      if (id.startsWith(REPLACED)) {
        const left = id.slice(REPLACED.length)
        return LEFT_OUT[left] ?? emptied(readFileSync(left, 'utf8'))
      }
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

/** Source of a module whose exports are functions that do nothing, and classes without objects. */
function emptied(source) {
  const exported = [...source.matchAll(/^export (class|function|const) (\w+)/gm)]
  const empty = exported.map(([, kind, name]) =>
    kind === 'class'
      ? `export class ${name} { constructor() { throw new Error('This build has no ${name}.') } }`
      : `export function ${name}() {}`,
  )
  return [...empty, /^export default /m.test(source) ? `export default ''` : ''].join('\n')
}
