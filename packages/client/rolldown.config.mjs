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
  // `createGeo` and all that it needs are apart from the code that checks and signs, so that a page that
  // bundles the client does not load viem. The kernel needs only the first group.
  chunks: {
    groups: [
      { name: 'errors', test: /[\\/](?:client[\\/]src[\\/](?:errors|position)|operations[\\/]table)\.ts$/ },
      { name: 'geo', test: /[\\/]client[\\/]src[\\/]geo\.ts$/ },
    ],
  },
})
