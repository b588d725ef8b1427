// `npm run build`: builds the parts whose sources changed. It checks no types; `npm run lint` does. With
// `--packages`, only the packages and what they need, as for a release.
import { existsSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs'
import path from 'node:path'
import { runParts } from './parts.mjs'

const tsc = (config) => ['node_modules/@typescript/native/bin/tsc', '--noCheck', '-p', config]
const library = ['packages/build.mjs', 'packages/library.mjs']
const kernel = [
  'src/geodesy',
  'src/operations',
  'src/eas',
  'src/tlog',
  'src/location',
  'src/chains.ts',
  'src/cut.ts',
  'src/errors.ts',
  'src/events.ts',
  'src/strict-json.ts',
]
const API = 'dist/api/main.js'
const CLIENT = 'packages/client/dist/index.mjs'
const CLIENT_TYPES = path.normalize('packages/client/src/openapi.ts')
/** True if type declarations of packages are built. The installation of `npm start` lacks the builder. */
const TYPED = existsSync('node_modules/rolldown-plugin-dts')
/**
 * Parts, in the order in which they start. `product` is a file that the program writes. Its time becomes the
 * time at which the build started, so that any later change of `sources` makes the part outdated. `kept` is
 * another file that must exist. A part starts after the parts of its `needs` have ended. Parts with `typed`
 * produce declarations only.
 */
const PARTS = [
  {
    name: 'packages/client',
    program: ['packages/build.mjs', 'client'],
    sources: ['packages/client', ...kernel, ...library],
    product: CLIENT,
  },
  {
    name: 'API and start',
    program: tsc('tsconfig.dist.json'),
    sources: ['src', 'api', 'dev', 'bench', 'packages/witness/src', 'tsconfig.json', 'tsconfig.dist.json'],
    product: API,
    folder: ['dist', '.'],
  },
  {
    name: 'pages',
    program: [
      ...['node_modules/vite/bin/vite.js', 'build', '--config', 'web/vite.config.mts', '--logLevel', 'warn'],
    ],
    sources: ['web', 'src/page-header.ts', ...kernel, CLIENT],
    product: 'dist/web/index.html',
    needs: ['packages/client'],
  },
  {
    name: 'types of the API',
    program: ['dev/client-types.mjs'],
    sources: [API],
    product: 'dist/openapi.json',
    kept: CLIENT_TYPES,
    needs: ['API and start'],
    typed: true,
  },
  {
    name: 'packages/mcp and cli',
    program: ['packages/build.mjs', 'mcp', 'cli'],
    sources: [
      ...['packages/mcp', 'packages/cli', 'packages/licenses.mjs', 'src/operations/table.ts'],
      ...['src/tlog', CLIENT],
      ...library,
    ],
    product: 'packages/cli/dist/main.mjs',
    needs: ['packages/client'],
  },
  {
    name: 'declarations of packages',
    program: ['packages/declarations.mjs', 'client', 'mcp'],
    sources: ['packages/client', 'packages/mcp', CLIENT_TYPES, 'packages/declarations.mjs', ...kernel],
    product: 'packages/client/dist/index.d.mts',
    kept: 'packages/mcp/dist/index.d.mts',
    needs: ['types of the API', 'packages/client', 'packages/mcp and cli'],
    typed: true,
  },
  {
    name: 'indexer',
    program: tsc('tsconfig.lib.json'),
    sources: ['src', 'tsconfig.json', 'tsconfig.lib.json'],
    product: 'lib/migrate.js',
    folder: ['lib', 'src'],
  },
  {
    name: 'packages/witness',
    program: ['packages/build.mjs', 'witness'],
    sources: ['packages/witness', 'packages/licenses.mjs', 'packages/build.mjs', 'src/tlog'],
    product: 'packages/witness/dist/main.mjs',
  },
]

process.chdir(path.join(import.meta.dirname, '..'))
const started = new Date()
const onlyPackages = process.argv.includes('--packages')
runParts(
  PARTS.filter(
    ({ name, typed }) => (TYPED || !typed) && !(onlyPackages && ['pages', 'indexer'].includes(name)),
  ).map((part) => ({ ...part, isDone: () => isCurrent(part) })),
  {
    doing: 'building',
    start({ product }) {
      // The part stays outdated if its build stops half-way.
      rmSync(product, { force: true })
    },
    done({ product, kept, folder }) {
      if (folder) removeStale(...folder)
      utimesSync(product, started, started)
      if (kept && statSync(kept).mtimeMs > started) utimesSync(kept, started, started)
    },
  },
)

function isCurrent({ product, kept = product, sources }) {
  return (
    existsSync(product) &&
    existsSync(kept) &&
    newest([...sources, 'package-lock.json', 'dev/build.mjs']) <= statSync(product).mtimeMs
  )
}

/**
 * Time of the newest source in these files and folders, in milliseconds. In a folder, tests and the types of
 * the API are not sources, because no program contains them.
 */
function newest(paths) {
  let latest = 0
  for (const file of paths) {
    // Emacs marks an edited file with a link to nothing, in the same folder.
    const stat = statSync(file, { throwIfNoEntry: false })
    if (!stat?.isDirectory()) latest = Math.max(latest, stat?.mtimeMs ?? 0)
    else
      latest = Math.max(
        latest,
        newest(
          readdirSync(file)
            .filter((name) => !/^(dist|test|node_modules|ponder)$|\.test\.ts$|\.md$/.test(name))
            .map((name) => path.join(file, name))
            .filter((each) => each !== CLIENT_TYPES),
        ),
      )
  }
  return latest
}

/** Removes the output of sources that no longer exist. Vite empties its own folder. */
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
