// `npm run build`: builds the parts whose sources changed. It checks no types; `npm run lint` does.
import { existsSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs'
import path from 'node:path'
import { runParts } from './parts.mjs'

const tsc = (config) => ['node_modules/@typescript/native/bin/tsc', '--noCheck', '-p', config]
const library = ['packages/build.mjs', 'packages/library.mjs']
const kernel = [
  'src/geodesy',
  'src/operations',
  'src/eas',
  'src/location',
  'src/chains.ts',
  'src/strict-json.ts',
]
/**
 * The longest first. `product` is a file that the program writes; its time becomes the time at which the
 * build started, so that any later change of `sources` makes the part outdated.
 */
const PARTS = [
  {
    name: 'packages/client',
    program: ['packages/build.mjs', 'client'],
    sources: ['packages/client', ...kernel, ...library],
    product: 'packages/client/dist/index.mjs',
  },
  {
    name: 'API and start',
    program: tsc('tsconfig.dist.json'),
    sources: ['src', 'api', 'dev', 'bench', 'tsconfig.json', 'tsconfig.dist.json'],
    product: 'dist/api/main.js',
    folder: ['dist', '.'],
  },
  {
    name: 'pages',
    program: [
      ...['node_modules/vite/bin/vite.js', 'build', '--config', 'web/vite.config.mts', '--logLevel', 'warn'],
    ],
    sources: ['web', 'src/chains.ts'],
    product: 'dist/web/index.html',
    needs: ['packages/client'],
  },
  {
    name: 'indexer',
    program: tsc('tsconfig.lib.json'),
    sources: ['src', 'tsconfig.json', 'tsconfig.lib.json'],
    product: 'lib/migrate.js',
    folder: ['lib', 'src'],
  },
  {
    name: 'packages/mcp and cli',
    program: ['packages/build.mjs', 'mcp', 'cli'],
    sources: ['packages/mcp', 'packages/cli', 'packages/licenses.mjs', ...library],
    product: 'packages/cli/dist/main.mjs',
    needs: ['packages/client'],
  },
]

process.chdir(path.join(import.meta.dirname, '..'))
const started = new Date()
const outdated = new Set()
for (const { name, sources, product, needs = [] } of PARTS)
  if (
    !existsSync(product) ||
    needs.some((each) => outdated.has(each)) ||
    newest([...sources, 'package-lock.json', 'dev/build.mjs']) > statSync(product).mtimeMs
  )
    outdated.add(name)
const parts = PARTS.filter(({ name }) => outdated.has(name))
// A build that is stopped half-way leaves its part outdated.
for (const { product } of parts) rmSync(product, { force: true })
runParts(parts, {
  doing: 'building',
  done({ product, folder }) {
    if (folder) removeStale(...folder)
    utimesSync(product, started, started)
  },
})

/** Time of the newest source in these files and folders, in milliseconds. Tests are not sources. */
function newest(paths) {
  let latest = 0
  for (const file of paths) {
    const stat = statSync(file)
    if (!stat.isDirectory()) latest = Math.max(latest, stat.mtimeMs)
    else
      latest = Math.max(
        latest,
        newest(
          readdirSync(file)
            .filter((name) => !/^(dist|test|node_modules|ponder)$|\.test\.ts$|\.md$/.test(name))
            .map((name) => path.join(file, name)),
        ),
      )
  }
  return latest
}

/** Removes what was built of sources that no longer exist. Vite empties its own folder. */
function removeStale(built, sources) {
  for (const name of readdirSync(built)) {
    const file = path.join(built, name)
    const source = path.join(sources, name)
    if (statSync(file).isDirectory()) {
      if (file !== path.join('dist', 'web')) removeStale(file, source)
      continue
    }
    const script = /^(.*)\.js(\.map)?$/.exec(name)
    if (script && !existsSync(path.join(sources, `${script[1]}.ts`))) rmSync(file)
  }
}
