// SPDX-License-Identifier: MIT
// `node packages/build.mjs client mcp cli` builds packages in this order, without rolldown's output.
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'rolldown'

for (const name of process.argv.slice(2)) {
  process.chdir(path.join(import.meta.dirname, name))
  const { default: config } = await import(pathToFileURL(path.resolve('rolldown.config.mjs')).href)
  for (const output of [config].flat()) await build(output)
}
