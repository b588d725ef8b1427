#!/usr/bin/env node
// SPDX-License-Identifier: MIT
// Compiler that forge runs (foundry.toml): npm's solc, with those options of a native build that forge uses.
// So nothing is downloaded, and the version is the one in package-lock.json.
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

const { argv } = process
const root = argv[argv.indexOf('--base-path') + 1]
const folders = [root, ...argv.filter((_, i) => argv[i - 1] === '--include-path')]
if (argv.includes('--standard-json')) {
  const { default: solc } = await import('solc')
  const input = JSON.parse(readFileSync(0, 'utf8'))
  // Packages lie outside the root. forge lists their files by absolute paths; the compiler requests them by
  // the paths in the imports.
  for (const file of Object.keys(input.sources)) if (path.isAbsolute(file)) delete input.sources[file]
  const read = (file) => {
    const found = folders.map((folder) => path.resolve(folder, file)).find((each) => existsSync(each))
    return found ? { contents: readFileSync(found, 'utf8') } : { error: `not found in ${folders.join(', ')}` }
  }
  process.stdout.write(solc.compile(JSON.stringify(input), { import: read }))
} else {
  // Every command of forge asks for the version. Loading the compiler for it would take a second. forge
  // accepts the names of native builds only.
  console.log(`Version: ${createRequire(import.meta.url)('solc/package.json').version}+npm.Linux.g++`)
}
