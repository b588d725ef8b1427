// SPDX-License-Identifier: MIT
import { licenses } from '../licenses.mjs'

/** Bundles ESM for Node into one file without dependencies. */
export default {
  input: { main: 'src/main.ts' },
  external: (name) => name.startsWith('node:'),
  platform: 'node',
  checks: { pluginTimings: false },
  plugins: [licenses()],
  output: { dir: 'dist', format: 'esm', cleanDir: true, entryFileNames: '[name].mjs' },
}
