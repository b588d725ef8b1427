// SPDX-License-Identifier: MIT
import { createRequire } from 'node:module'
import path from 'node:path'
import { licenses } from '../licenses.mjs'

// The build's packages are resolved from dev, because a production installation has these, but not the
// development dependencies of packages/cli.
const tools = createRequire(path.resolve('../../dev/package.json'))

/**
 * ESM for Node. Each command has its own chunk, so that --help and completion load no package. Packages are
 * bundled except `open`, which comes with an executable: a command then loads a dozen files instead of five
 * hundred, in a third of the time.
 */
export default {
  input: { main: 'src/main.ts' },
  external: (name) => name.startsWith('node:') || name === 'open',
  platform: 'node',
  resolve: { alias: { commander: path.join(path.dirname(tools.resolve('commander')), 'esm.mjs') } },
  checks: { pluginTimings: false },
  plugins: [licenses()],
  output: {
    ...{ dir: 'dist', format: 'esm', cleanDir: true, minify: { compress: true, mangle: false } },
    ...{ entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
  },
}
