import { licenses } from '../licenses.mjs'

/**
 * ESM for Node; each command is a chunk of its own, so that --help and completion load no package. Packages
 * are carried, but for `open`, which has a program beside it: a command loads a dozen files in place of five
 * hundred, in a third of the time.
 */
export default {
  input: { main: 'src/main.ts' },
  external: (name) => name.startsWith('node:') || name === 'open',
  platform: 'node',
  checks: { pluginTimings: false },
  plugins: [licenses()],
  output: {
    ...{ dir: 'dist', format: 'esm', cleanDir: true, minify: { compress: true, mangle: false } },
    ...{ entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
  },
}
