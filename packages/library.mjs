// SPDX-License-Identifier: MIT

/** Generates declarations; undefined in the installation of `npm start`, which needs none. */
const { dts } = await import('rolldown-plugin-dts').catch((error) => {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
  return {}
})

/**
 * Configurations that build a library as ESM and as CommonJS. Each format has its own declarations, so that
 * type resolution in one format never meets the other. `options` are rolldown's. Packages are not bundled,
 * unless `options` replaces `external`. `chunks` are rolldown's options of code splitting.
 */
export function library({ plugins, chunks: codeSplitting, ...options }) {
  const common = { external: /^[^./\0]/, platform: 'neutral', checks: { pluginTimings: false }, ...options }
  const files = (extension, chunkExtension = extension) => ({
    dir: 'dist',
    entryFileNames: `[name].${extension}`,
    chunkFileNames: `[name]-[hash].${chunkExtension}`,
  })
  const declarations = () => dts({ emitDtsOnly: true, tsconfig: 'tsconfig.json' })
  return [
    { ...common, plugins, output: { ...files('mjs'), format: 'esm', codeSplitting, cleanDir: true } },
    { ...common, plugins, output: { ...files('cjs'), format: 'cjs', codeSplitting } },
    ...(dts
      ? [
          { ...common, plugins: [declarations()], output: { ...files('mts', 'd.mts'), format: 'esm' } },
          { ...common, plugins: [declarations()], output: { ...files('cts', 'd.cts'), format: 'esm' } },
        ]
      : []),
  ]
}
