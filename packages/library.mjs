// SPDX-License-Identifier: MIT

/**
 * Configurations that build a library as ESM and as CommonJS. packages/declarations.mjs writes the
 * declarations. `options` are rolldown's. Packages are not bundled, unless `options` replaces `external`.
 * `chunks` are rolldown's options of code splitting.
 */
export function library({ chunks: codeSplitting, ...options }) {
  const common = { external: /^[^./\0]/, platform: 'neutral', checks: { pluginTimings: false }, ...options }
  const files = (extension) => ({
    dir: 'dist',
    entryFileNames: `[name].${extension}`,
    chunkFileNames: `[name]-[hash].${extension}`,
  })
  return [
    { ...common, output: { ...files('mjs'), format: 'esm', codeSplitting, cleanDir: true } },
    { ...common, output: { ...files('cjs'), format: 'cjs', codeSplitting } },
  ]
}
