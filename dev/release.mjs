// `npm run release -- <version>` writes the changelog and the version of all packages, commits, tags, and
// writes the files for upload into dist/release: npm packages, an SBOM, SHA-256 sums. It needs no network.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const UNRELEASED = 'changelog/unreleased'
const FOLDER = 'dist/release'
/** Sections of a release, in their order, by the first word of a change's file name. */
const SECTIONS = {
  advisory: 'Advisories',
  security: 'Security',
  upgrade: 'Upgrade',
  added: 'Added',
  changed: 'Changed',
  fixed: 'Fixed',
}
/** Recorded examples of the API, which contain the version. */
const EXAMPLES = 'api/service/openapi-examples.json'
const output = (program, ...options) =>
  execFileSync(program, options, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 1e8 })
const git = (...options) => output('git', ...options).trim()
const npm = (...options) => output(process.platform === 'win32' ? 'npm.cmd' : 'npm', ...options)
const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'))
const writeJson = (file, value) => writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`)

function stop(problem) {
  console.error(problem)
  process.exit(2)
}

/** Changes by section, or a message that names the first file without a section. */
function readChanges() {
  const files = readdirSync(UNRELEASED)
    .filter((file) => file.endsWith('.md'))
    .sort()
  const unknown = files.find((file) => !Object.hasOwn(SECTIONS, file.split('-')[0]))
  if (unknown)
    stop(`${UNRELEASED}/${unknown}: the name must start with one of ${Object.keys(SECTIONS).join(', ')}.`)
  return Object.entries(SECTIONS).flatMap(([kind, title]) => {
    const texts = files
      .filter((file) => file.startsWith(`${kind}-`))
      .map((file) => readFileSync(path.join(UNRELEASED, file), 'utf8').trim().replace(/\n/g, '\n  '))
    return texts.length ? [`### ${title}\n${texts.map((text) => `- ${text}\n`).join('')}`] : []
  })
}

/** Writes the version into a manifest: its own, and that of its dependencies in this repository. */
function writeVersion(manifest, names, version) {
  if (manifest.version !== undefined) manifest.version = version
  for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'])
    for (const name of Object.keys(manifest[kind] ?? {}))
      if (names.includes(name) && /^\d/.test(manifest[kind][name])) manifest[kind][name] = version
}

function restore() {
  git('reset', '--quiet', '--hard')
}

process.chdir(path.join(import.meta.dirname, '..'))
const [version] = process.argv.slice(2)
if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version ?? ''))
  stop(
    `Usage: npm run release -- <version>, such as 1.2.3. The current version is ${readJson('package.json').version}.`,
  )
if (git('status', '--porcelain')) stop('The working tree has changes. Commit or stash them first.')
if (git('tag', '--list', `v${version}`)) stop(`The tag v${version} exists. Choose another version.`)
const changes = readChanges()
if (!changes.length && !readFileSync('CHANGELOG.md', 'utf8').includes(`\n## ${version} `))
  stop(`No change is described in ${UNRELEASED} (changelog/README.md).`)

process.once('exit', (status) => status !== 0 && restore())

const packages = readdirSync('packages').filter((name) => existsSync(`packages/${name}/package.json`))
const manifests = ['.', ...packages.map((name) => `packages/${name}`), 'dev', 'web', 'ops/optional'].map(
  (folder) => path.join(folder, 'package.json'),
)
const names = packages.map((name) => readJson(`packages/${name}/package.json`).name)
const previous = readJson('package.json').version
for (const file of manifests) {
  const manifest = readJson(file)
  writeVersion(manifest, names, version)
  writeJson(file, manifest)
}
const lock = readJson('package-lock.json')
lock.version = version
for (const folder of ['', 'web', 'dev', 'ops/optional', ...packages.map((name) => `packages/${name}`)])
  if (lock.packages[folder]) writeVersion(lock.packages[folder], names, version)
writeJson('package-lock.json', lock)
const quoted = new RegExp(`("version": ?")${previous.replaceAll('.', '\\.')}"`, 'g')
writeFileSync(EXAMPLES, readFileSync(EXAMPLES, 'utf8').replace(quoted, `$1${version}"`))

if (changes.length) {
  const [head, ...rest] = readFileSync('CHANGELOG.md', 'utf8').split(/^(?=## )/m)
  const day = new Date().toISOString().slice(0, 10)
  writeFileSync('CHANGELOG.md', [head, `## ${version} (${day})\n\n${changes.join('\n')}\n`, ...rest].join(''))
  for (const file of readdirSync(UNRELEASED)) if (file.endsWith('.md')) rmSync(path.join(UNRELEASED, file))
}
console.log(`✓ version ${version} in ${manifests.length} packages and the changelog`)

execFileSync(process.execPath, ['dev/build.mjs', '--packages'], { stdio: 'inherit' })
rmSync(FOLDER, { recursive: true, force: true })
mkdirSync(FOLDER, { recursive: true })
npm(
  'pack',
  '--silent',
  '--pack-destination',
  FOLDER,
  ...packages.flatMap((name) => ['-w', `packages/${name}`]),
)
const sbom = JSON.parse(npm('sbom', '--package-lock-only', '--omit=dev', '--sbom-format=cyclonedx'))
sbom.metadata.component.name = readJson('package.json').name // npm writes the folder's name
writeJson(path.join(FOLDER, `sbom-${version}.cdx.json`), sbom)
const sums = readdirSync(FOLDER)
  .sort()
  .map((file) => {
    const sum = createHash('sha256').update(readFileSync(path.join(FOLDER, file)))
    return `${sum.digest('hex')}  ${file}\n`
  })
writeFileSync(path.join(FOLDER, 'SHA256SUMS'), sums.join(''))
console.log(`✓ ${sums.length} files with their sums in ${FOLDER}`)

git('add', '--all')
git('commit', '--quiet', '-m', `release: publish version ${version}`)
git('tag', '--annotate', `v${version}`, '-m', `Version ${version}`)
console.log(`✓ commit and tag v${version}

To publish:
  git push --follow-tags
  npm publish ${FOLDER}/<package>.tgz --access public, client first
  upload ${FOLDER} to the release of the tag`)
