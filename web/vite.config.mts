import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'
import { basemap } from './build/basemap.mjs'
import { firstView } from './build/first-view.mjs'
import { compressed } from './build/compressed.mjs'
import { mapLibrary } from './build/map-library.mjs'
import { towns } from './build/towns.mjs'
import { pageHeader } from './build/page-header.mjs'

/** Builds the web pages into dist/web: index.html, and assets with hashes in their names. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // Relative, because a deployment may have a path (PUBLIC_BASE_URL).
  base: './',
  publicDir: false,
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    target: 'es2022',
    // Only the icon is inline (index.html), to keep the sources in the content security policy few.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    reportCompressedSize: false,
  },
  // MapLibre's sources expect that a declared field without a value does not exist.
  oxc: {
    assumptions: { setPublicClassFields: true },
    typescript: { removeClassFieldsWithoutInitializer: true },
  },
  plugins: [firstView(), pageHeader(), mapLibrary(), basemap(), towns(), compressed()],
})
