// SPDX-License-Identifier: MIT
import path from 'node:path'
import { library } from '../library.mjs'
import { bundledPackages, kernelPlugins } from './kernel-plugins.mjs'

export default library({
  input: { index: 'src/index.ts', kernel: 'src/kernel.ts' },
  external: (name) => /^[^./\0]/.test(name) && !bundledPackages.includes(name) && !path.isAbsolute(name),
  resolve: { mainFields: ['module', 'main'], aliasFields: [['browser']] },
  treeshake: { moduleSideEffects: false },
  plugins: kernelPlugins,
  // `createGeo`, the errors and all that they need are one chunk, apart from what checks and signs, so that a
  // page which loads the client does not load viem.
  chunks: { groups: [{ name: 'geo', test: /[\\/]client[\\/]src[\\/](?:geo|errors)\.ts$/ }] },
})
