// SPDX-License-Identifier: MIT
import path from 'node:path'
import { exactMath } from './exact-math.mjs'

const here = import.meta.dirname
const kernel = path.join(here, 'src/kernel')

const exact = exactMath({
  math: path.join(kernel, 'math.ts'),
  treat(file) {
    if (file.startsWith('\0')) return undefined
    if (['src', 'src/quorum'].includes(path.relative(here, path.dirname(file)))) return undefined
    if (['math.ts', 'pi-halves.ts', 'words.ts'].includes(path.relative(kernel, file))) return 'check'
    return /[\\/]h3-js[\\/]/.test(file) ? 'hand on' : 'replace'
  },
})
/** Makes geographiclib-geodesic a module: rolldown would wrap the imports of CommonJS in functions. */
const geographiclib = {
  name: 'geographiclib-as-module',
  transform(code, file) {
    if (!/[\\/]geographiclib-geodesic[\\/][^\\/]+$/.test(file)) return null
    return {
      code: `const module = { exports: {} };${code};export const { Geodesic } = module.exports`,
      map: null,
    }
  },
}
/** Loads h3-js only when a location needs it (src/kernel/h3.ts). */
const laterH3 = {
  name: 'later-h3',
  resolveId(name, importer) {
    if (name === 'h3-js' && !importer?.startsWith(kernel)) return path.join(kernel, 'h3.ts')
    return undefined
  },
}

/** Bundles the service's kernel so that it computes the same bits in every engine. */
export const kernelPlugins = [laterH3, geographiclib, exact]
/** Packages that are bundled with the kernel. */
export const bundledPackages = ['geographiclib-geodesic', 'h3-js']
