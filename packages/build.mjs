// Builds packages, in the order given: node packages/build.mjs client mcp cli
// (rolldown's own command prints every file, which `npm start` would show.)
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'rolldown'

for (const name of process.argv.slice(2)) {
  process.chdir(path.join(import.meta.dirname, name))
  const { default: config } = await import(pathToFileURL(path.resolve('rolldown.config.mjs')).href)
  for (const output of [config].flat()) await build(output)
}
