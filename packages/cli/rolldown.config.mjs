/** ESM for Node; each command is a chunk of its own, so that --help and completion load no other package. */
export default {
  input: { main: 'src/main.ts' },
  external: /^[^./\0]/,
  platform: 'node',
  checks: { pluginTimings: false },
  output: {
    ...{ dir: 'dist', format: 'esm', cleanDir: true },
    ...{ entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
  },
}
