import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Extension } from '@electric-sql/pglite'
import { postgis } from '@electric-sql/pglite-postgis'

/** PostGIS for the embedded database, loaded faster than by its package. */

/**
 * PostGIS as its package sets it up, without its unused files. Two thirds of their 95 MB, which each start
 * unpacks into memory, are rasters, topology and upgrades. They are removed once, for all later starts.
 */
export const postgisAlone: Extension = {
  ...postgis,
  setup: async (pglite, options) => {
    const set = await postgis.setup(pglite, options)
    const whole = set.bundlePath
    const cut = path.join(__dirname, `postgis-${statSync(whole).size}.tar.gz`)
    if (!existsSync(cut)) {
      // The archive is not compressed. Another process may write it at the same time.
      const temporary = `${cut}.${process.pid}`
      writeFileSync(temporary, gzipSync(cutTar(gunzipSync(readFileSync(whole)), USED_FILES), { level: 0 }))
      renameSync(temporary, cut)
    }
    return { ...set, bundlePath: pathToFileURL(cut) }
  },
}
const USED_FILES =
  /^(lib\/postgresql\/postgis-3\.so|share\/proj\/.*|share\/postgresql\/extension\/postgis(--\d+\.\d+\.\d+\.sql|\.control))$/
const TAR_BLOCK = 512

/** Files of a tar archive whose paths match. A header starts with the path, and has the octal size at 124. */
function cutTar(archive: Buffer, wanted: RegExp): Buffer {
  const kept: Buffer[] = []
  for (let at = 0; archive[at];) {
    const field = (from: number, to: number) =>
      archive.toString('latin1', at + from, at + to).replace(/\0.*$/, '')
    const end = at + TAR_BLOCK * (1 + Math.ceil(parseInt(field(124, 136), 8) / TAR_BLOCK))
    if (wanted.test(field(0, 100))) kept.push(archive.subarray(at, end))
    at = end
  }
  return Buffer.concat([...kept, Buffer.alloc(2 * TAR_BLOCK)])
}

/**
 * Caches the lists of keys: PGlite lists all 23,265 symbols of PostGIS (Object.keys) at the first call of
 * each function, and for each one that CREATE EXTENSION looks up, which takes 4 of its 5 seconds. They do not
 * change after they are loaded.
 */
export function rememberLargeKeys(): void {
  const listed = new WeakMap<object, string[]>()
  const { keys } = Object
  Object.keys = (object: object) => {
    const known = listed.get(object)
    if (known) return known
    const names = keys(object)
    if (names.length > LARGE) listed.set(object, names)
    return names
  }
}
/** No other object of PGlite has more than a few hundred keys. */
const LARGE = 10_000
