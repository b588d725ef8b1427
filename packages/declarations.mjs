// SPDX-License-Identifier: MIT
// `node packages/declarations.mjs client mcp` bundles the type declarations of libraries, in this order.
// Declarations of ESM and of CommonJS differ only in names of files, so that type resolution in one format
// never meets the other.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'

const root = path.join(import.meta.dirname, '..')
const TSC = path.join(root, 'node_modules/@typescript/native/bin/tsc')

for (const name of process.argv.slice(2)) {
  const folder = path.join(import.meta.dirname, name)
  const {
    default: [{ input, external }],
  } = await import(pathToFileURL(path.join(folder, 'rolldown.config.mjs')).href)
  const emitted = mkdtempSync(path.join(tmpdir(), 'declarations-'))
  try {
    const options = [
      '--noCheck',
      '--noEmit',
      'false',
      '--emitDeclarationOnly',
      '--rootDir',
      root,
      '--outDir',
      emitted,
    ]
    const { status } = spawnSync(process.execPath, [TSC, '-p', folder, ...options], { stdio: 'inherit' })
    if (status !== 0) process.exit(1)
    await bundle(input, external, path.join(emitted, 'packages', name), path.join(folder, 'dist'))
  } finally {
    rmSync(emitted, { recursive: true })
  }
}

async function bundle(input, external, cwd, dir) {
  await build({
    cwd,
    input: Object.fromEntries(
      Object.entries(input).map(([name, file]) => [name, file.replace(/\.ts$/, '.d.ts')]),
    ),
    external,
    checks: { pluginTimings: false },
    plugins: [dts({ cwd, dtsInput: true, emitDtsOnly: true, tsconfig: false })],
    output: { dir, format: 'esm', entryFileNames: '[name].d.mts', chunkFileNames: '[name]-[hash].d.mts' },
  })
  for (const file of readdirSync(dir).filter((each) => each.endsWith('.d.mts'))) {
    const text = readFileSync(path.join(dir, file), 'utf8')
    writeFileSync(
      path.join(dir, file.replace(/mts$/, 'cts')),
      text.replace(/(?<= from "\.\/[^"]+)\.mjs(?=";)/g, '.cjs'),
    )
  }
}
