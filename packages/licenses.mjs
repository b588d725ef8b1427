// SPDX-License-Identifier: MIT
import { readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'

const LICENSE = /^(licen[cs]e|notice|copying)/i

/** Plugin of rolldown: adds LICENSES.txt of all bundled packages. Fails if a package has no licence. */
export function licenses() {
  return {
    name: 'licenses',
    generateBundle(_, bundle) {
      const files = Object.values(bundle)
        .flatMap(({ moduleIds = [] }) => moduleIds)
        .filter((id) => path.isAbsolute(id)) // other modules are virtual modules of the bundler
      const folders = new Set(files.map(licensorOf).filter((folder) => folder !== process.cwd()))
      // A package may be installed twice.
      const texts = new Set([...folders].map(textOf))
      const source = [...texts].sort().join(`\n${'-'.repeat(80)}\n\n`)
      this.emitFile({ type: 'asset', fileName: 'LICENSES.txt', source })
    },
  }
}

const root = path.join(import.meta.dirname, '..')
/** The folder of the package whose licence applies. That of the client also applies to src (NOTICE). */
function licensorOf(file) {
  const folder = packageOf(file)
  return folder === root ? path.join(root, 'packages/client') : folder
}

/** The folder of the package that contains a file: the nearest folder whose package.json has a version. */
function packageOf(file) {
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    const manifest = manifestOf(folder)
    if (manifest?.version) return folder
    if (folder === path.dirname(folder)) throw new Error(`${file} belongs to no package`)
  }
}

function manifestOf(folder) {
  try {
    return JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
  } catch {
    return undefined
  }
}

function textOf(folder) {
  const { name, version, license } = manifestOf(folder)
  const texts = readdirSync(folder)
    .filter((file) => LICENSE.test(file))
    .map((file) => readFileSync(path.join(folder, file), 'utf8').trim())
  if (!texts.length) throw new Error(`${name} has no licence that could be carried`)
  return `${name} ${version} (${license})\n\n${texts.join('\n\n')}\n`
}
