import { createRequire } from 'node:module'
import path from 'node:path'
import { licenses } from '../licenses.mjs'

// An installation for production has the packages of dev, but not those of this package's development.
const tools = createRequire(path.resolve('../../dev/package.json'))

/**
 * ESM for Node; each command is a chunk of its own, so that --help and completion load no package. Packages
 * are carried, but for `open`, which has a program beside it: a command loads a dozen files in place of five
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
