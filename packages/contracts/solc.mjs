#!/usr/bin/env node
// The compiler that forge runs (foundry.toml): npm's solc, with the two options of a native build that forge
// uses. So nothing is downloaded, and the version is the one in package-lock.json.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import solc from 'solc'

const root = process.argv[process.argv.indexOf('--base-path') + 1]
if (process.argv.includes('--standard-json')) {
  const input = JSON.parse(readFileSync(0, 'utf8'))
  // Packages lie outside the root. forge lists what they import by absolute paths; the compiler asks for it
  // by the paths in the imports.
  for (const file of Object.keys(input.sources)) if (path.isAbsolute(file)) delete input.sources[file]
  const read = (file) => {
    try {
      return { contents: readFileSync(path.resolve(root, file), 'utf8') }
    } catch (error) {
      return { error: error.message }
    }
  }
  process.stdout.write(solc.compile(JSON.stringify(input), { import: read }))
} else {
  // forge accepts the names of native builds only.
  console.log(`Version: ${solc.version().replace('Emscripten.clang', 'Linux.g++')}`)
}
