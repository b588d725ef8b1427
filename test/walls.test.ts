import { readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { PORTABLE, problemOf, roomOf } from '../dev/rooms.mjs'

/** Tests the boundaries between rooms (docs/architecture/README.md, Rooms) by their imports. */
const sourcesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && !file.endsWith('.test.ts'))
    .map((file) => path.posix.join(folder, file.replaceAll('\\', '/')))
const files = ['src', 'api', 'dev'].flatMap(sourcesIn)
const inPackages = readdirSync('packages', { withFileTypes: true })
  .filter((each) => each.isDirectory())
  .flatMap(({ name }) => sourcesIn(`packages/${name}/src`))
/** Returns the function with results that are kept for each file. */
function perFile<T>(of: (file: string) => T): (file: string) => T {
  const known = new Map<string, T>()
  return (file) => known.get(file) ?? known.set(file, of(file)).get(file)!
}
/** Text of a source file, with each import on one line. */
const source = perFile((file) =>
  readFileSync(file, 'utf8').replace(/^import\b[^';]*'/gm, (statement) => statement.replace(/\s+/g, ' ')),
)
const imports = perFile((file) =>
  [...source(file).matchAll(/(?:from\s|import\(?|require\()\s*'([^']+)'/g)].map((match) =>
    match[1]!.startsWith('.') ? path.posix.join(path.posix.dirname(file), match[1]!) : match[1]!,
  ),
)
const under = (folder: string) => files.filter((file) => file.startsWith(folder))
/** All imports from these files of the given targets. */
const crossings = (from: string[], to: RegExp) =>
  from.flatMap((file) =>
    imports(file)
      .filter((target) => to.test(target))
      .map((target) => `${file} -> ${target}`),
  )
const holders = (text: RegExp) => files.filter((file) => text.test(source(file)))

test('the check of imports finds and reads the sources', () => {
  expect(files.length).toBeGreaterThan(20)
  expect(imports('api/main.ts')).toContain('src/config')
})
test('every file of api and src is in a room, except files that serve all rooms', () => {
  expect(
    files.filter((file) => !file.startsWith('dev/') && !roomOf(file) && !/^src\/(abi|model)\//.test(file)),
  ).toEqual([
    ...['src/chains-file.ts', 'src/chains.ts', 'src/clock.ts', 'src/config.ts', 'src/cut.ts'],
    ...['src/errors.ts', 'src/events.ts', 'src/log.ts', 'src/migrate.ts', 'src/migrations.ts'],
    ...['src/page-header.ts', 'src/postgres.ts', 'src/process.ts', 'src/retry.ts', 'src/strict-json.ts'],
    'src/tracing.ts',
    'src/words.ts',
    ...['api/copies.ts', 'api/copy.ts'],
    ...['api/deploy-proxy.ts', 'api/main.ts', 'api/process.ts', 'api/proxy-deployment.ts', 'api/server.ts'],
    ...['api/squid-graphql-server.ts'],
  ])
})
test('the check reports an import against an arrow, or of a file behind a door', () => {
  expect(problemOf('src/geodesy/area.ts', 'src/location')).toContain(
    'src/geodesy may not import src/location.',
  )
  expect(problemOf('api/tiles/routes.ts', 'api/store/store')).toContain("Import its door, 'api/store'.")
  expect(problemOf('api/tiles/routes.ts', 'api/store')).toBeUndefined()
  expect(problemOf('api/server.ts', 'api/tiles')).toBeUndefined()
})
test('the kernel and the signing code import no other code of this project', () => {
  expect(crossings(under('src/geodesy/'), /^(src|api|dev)\/(?!geodesy)|^ethers/)).toEqual([])
  expect(crossings(under('src/eas/'), /^(src|api|dev)\/(?!eas)/)).toEqual([])
  expect(
    new Set(
      under('src/eas/')
        .flatMap(imports)
        .filter((target) => !target.startsWith('src/'))
        .map((target) => target.replace(/^ethers\/.*/, 'ethers')),
    ),
  ).toEqual(new Set(['ethers', 'hash-wasm', 'node:crypto', 'secp256k1/bindings']))
})
test('the pages import the client, and only files without dependencies of src', () => {
  const pages = sourcesIn('web')
  expect(pages.length).toBeGreaterThan(10)
  const outside = pages.flatMap(imports).filter((target) => /^(src|api|dev|packages)\//.test(target))
  expect([...new Set(outside)].sort()).toEqual([
    ...['src/chains', 'src/geodesy/centimeters', 'src/geodesy/degrees', 'src/location/event-time'],
    ...['src/location/names', 'src/operations/table', 'src/page-header', 'src/tlog', 'src/words'],
  ])
  const alone = [
    'src/geodesy/centimeters.ts',
    'src/geodesy/degrees.ts',
    'src/location/event-time.ts',
    'src/location/names.ts',
    'src/operations/table.ts',
    'src/page-header.ts',
    'src/words.ts',
  ]
  expect(alone.flatMap(imports)).toEqual([])
})
/** File that an import names; undefined for a package. */
const fileOf = (target: string, among: readonly string[]) =>
  [`${target}.ts`, `${target}/index.ts`].find((file) => among.includes(file))
/** Files that these files import, directly or through others. */
function reachedFrom(targets: readonly string[], among: readonly string[]): Set<string> {
  const reached = new Set<string>()
  const reach = (target: string) => {
    const file = fileOf(target, among)
    if (file === undefined || reached.has(file)) return
    reached.add(file)
    imports(file).forEach(reach)
  }
  targets.forEach(reach)
  return reached
}

test('the files that .oxlintrc.json exempts from import/no-cycle are those in an import cycle', () => {
  const config = readFileSync('.oxlintrc.json', 'utf8').replace(/^\s*\/\/.*$/gm, '')
  const { overrides } = JSON.parse(config) as {
    overrides: { files: string[]; rules: Record<string, unknown> }[]
  }
  const exempt = overrides
    .filter(({ rules }) => rules['import/no-cycle'] === 'off')
    .flatMap(({ files }) => files)
  const all = [...files, ...inPackages]
  // Files that import nothing of the rest, or that nothing of the rest imports, are in no cycle.
  let rest = all.map((file) => ({ file, targets: imports(file).map((target) => fileOf(target, all)) }))
  for (let size = -1; size !== rest.length;) {
    size = rest.length
    const left = new Set(rest.map(({ file }) => file))
    const imported = new Set(rest.flatMap(({ targets }) => targets))
    rest = rest.filter(
      ({ file, targets }) => imported.has(file) && targets.some((target) => target && left.has(target)),
    )
  }
  const cyclic = rest.map(({ file }) => file).filter((file) => reachedFrom(imports(file), all).has(file))
  expect(cyclic.sort()).toEqual(exempt.sort())
})
test('packages import only files of src that run in browsers, without modules of Node', () => {
  const entered = new Set(inPackages.flatMap(imports).filter((target) => /^(src|api|dev)\//.test(target)))
  expect([...entered].sort()).toEqual([...PORTABLE].sort())
  const reached = reachedFrom(PORTABLE, files)
  expect(reached.size).toBeGreaterThan(20)
  const { groups } = /const kernel = \[(?<names>[^\]]*)\]/.exec(readFileSync('dev/build.mjs', 'utf8'))!
  const rebuiltFor = [...groups!.names!.matchAll(/'([^']+)'/g)].map(([, name]) => name!)
  expect([...reached].filter((file) => !rebuiltFor.some((each) => file.startsWith(each)))).toEqual([])
  const packages = [...reached].flatMap(imports).filter((target) => !target.startsWith('src/'))
  expect([...new Set(packages)].sort()).toEqual([
    ...['@noble/hashes/sha2.js', 'geographiclib-geodesic', 'geojson', 'h3-js'],
  ])
  expect([...reached].filter((file) => /\b(Buffer|process|require)\b[.(]/.test(source(file)))).toEqual([])
})
test('src never imports api or dev; api never imports dev', () => {
  expect(crossings(under('src/'), /^(api|dev|test|bench)\//)).toEqual([])
  expect(crossings(under('api/'), /^(dev|test|bench)\//)).toEqual([])
})
test('packages import no other files of src and api, which have another licence', () => {
  expect(inPackages.length).toBeGreaterThan(10)
  expect(
    inPackages.flatMap((file) =>
      imports(file)
        .filter((target) => /^(src|api|dev|test|bench|\.\.)(\/|$)/.test(target) && !PORTABLE.includes(target))
        .map((target) => `${file} -> ${target}`),
    ),
  ).toEqual([])
})
test('parts receive settings by name, and only signers receive secrets', () => {
  expect(holders(/\.\.\.settings\b(?![.\w])/)).toEqual([])
  const readers = (secret: RegExp) => holders(secret).filter((file) => !file.startsWith('dev/'))
  const [settings, signers] = [['src/config.ts', 'src/settings/table.ts'], 'api/compute/signers']
  expect(readers(/\breadKey\b/)).toEqual([...settings, `${signers}/index.ts`])
  expect(readers(/\breadSealSecrets\b/)).toEqual([...settings, `${signers}/index.ts`])
  expect(readers(/\breadPin\b/)).toEqual([...settings, `${signers}/pkcs11.ts`])
})
test('SQL, the environment, the key, outgoing calls and caches are each used in one room only', () => {
  expect(
    holders(/\b(SELECT|INSERT INTO|UPDATE|DELETE FROM)\b[^]*?\b(FROM|VALUES|SET)\b/).filter(
      (file) => file.startsWith('api/') && !/\/store\/|\/(store|sql)[^/]*\.ts$/.test(file),
    ),
  ).toEqual([])
  // src/postgres.ts reads PGOPTIONS, as pg does. dev/held.ts passes settings to a program, and reads none.
  expect(holders(/process\.env\b|loadEnvFile/)).toEqual(['src/config.ts', 'src/postgres.ts', 'dev/held.ts'])
  expect(holders(/\b(SigningKey|keySigner)\b/).filter((file) => !file.startsWith('src/eas/'))).toEqual([
    'api/compute/signers/index.ts',
  ])
  // The attester commits the entry of a signature before it returns the signature. The other file signs
  // transactions.
  expect(holders(/\bsigner\.sign\(/)).toEqual(['api/proxy-deployment.ts', 'api/compute/attester.ts'])
  // The project has one kind of cache, and one list of caches (docs/architecture/caches.md).
  expect(holders(/'lru-cache'/)).toEqual(['api/http/cache.ts'])
  expect(holders(/'pkcs11js'/)).toEqual(['api/compute/signers/pkcs11-worker.ts'])
  expect(holders(/\brpcClient\(|= rpcClient\b/)).toEqual([
    'src/rpc/endpoint.ts',
    'src/rpc/http.ts',
    'api/compute/signers/remote.ts',
  ])
  // Calls of the global fetch (methods named fetch are excluded), and imports of modules that open
  // connections (except type imports).
  expect(holders(/(?:await|return|=>|=|\()\s*fetch\(/).filter((file) => !file.startsWith('dev/'))).toEqual([])
  expect(
    holders(
      /import (?!type)[^\n]*\b(?:Client|Agent|Pool|request|fetch|connect|get)\b[^\n]* from '(?:undici|node:(?:https?|http2|net|tls))'/,
    ).filter((file) => !file.startsWith('dev/')),
  ).toEqual(['src/rpc/http.ts', 'api/outgoing/fetcher.ts', 'api/outgoing/sender.ts'])
  // Migrations are recorded in the transaction that applies them.
  expect(
    holders(/\b(INSERT INTO|UPDATE|DELETE FROM)\b/).filter(
      (file) => file.startsWith('src/') && !file.startsWith('src/indexer/store/'),
    ),
  ).toEqual(['src/migrations.ts'])
})
/** Reads of the system clock: Date.now, new Date() and Date(). */
const WALL_TIME =
  /\bDate\.now\b|\bnew Date\b(?!\s*\(\s*[^\s)])|(?<!new )\bDate\(\s*\)|\btimeOrigin\b|\bTemporal\b/
/** Reads of the system clock as a timestamp: file, code and reason. src/clock.ts measures durations. */
const TIMESTAMPS: readonly (readonly [string, string, string])[] = [
  ['src/indexer/store/batch.ts', 'bodies, new Date())', 'when rows are written'],
  ['src/indexer/store/replay.ts', '      new Date(),\n', 'when rows are written'],
  ['src/indexer/snapshot.ts', 'taken = new Date().toISOString()', 'when a snapshot is taken'],
  ['api/copy.ts', 'clock = () => Date.now()', 'deadlines, expiry and timestamps that are signed or shown'],
  ['api/proxy-deployment.ts', 'clock = () => Date.now()', 'compared with the time of a block'],
  ['api/compute/landed.ts', 'head.time < Date.now() / 1000', 'compared with the time of a block'],
  ['api/http/guard.ts', 'new Date().toUTCString()', 'the header Date'],
  ['packages/cli/src/ask.ts', 'deadline - Date.now() / 1000', 'compared with a deadline'],
  ['packages/cli/src/check.ts', '< Math.floor(Date.now() / 1000)', 'compared with a deadline'],
  ['packages/cli/src/log/alarms.ts', 'Math.floor(Date.now() / 1000)', 'compared with times of entries'],
  ['packages/client/src/attest.ts', 'time = Math.floor(Date.now() / 1000)', 'signed'],
  ['packages/client/src/check.ts', 'now = Date.now() / 1000', 'compared with a deadline'],
  ['packages/client/src/http.ts', 'String(Math.floor(Date.now() / 1000))', 'signed'],
  ['packages/client/src/log.ts', 'Date.now() / 1000', 'compared with a deadline'],
  ['packages/client/src/place.ts', '<= Date.now() / 1000', 'compared with an expiry'],
  ['packages/client/src/quorum/index.ts', 'Math.floor(Date.now() / 1000)', 'signed'],
  ['packages/client/src/quorum/land.ts', 'answer.deadline < Math.floor(Date.now()', 'a signed deadline'],
  ['packages/client/src/quorum/land.ts', 'Date.now() / 1000 - SKEW', 'compared with a signed time'],
  ['packages/client/src/quorum/land.ts', 'Date.now() > answer.deadline', 'compared with a signed deadline'],
  ['packages/client/src/quorum/index.ts', 'epoch.validUntil * 1000 - Date.now()', 'compared with an expiry'],
  ['packages/client/src/quorum/operators.ts', 'now = Date.now() / 1000', 'compared with an expiry'],
  ['packages/client/src/place.ts', 'time = new Date()', 'attested'],
  ['packages/mcp/src/earlier.ts', '< Math.floor(Date.now() / 1000)', 'compared with a deadline'],
  ['packages/witness/src/main.ts', 'Math.floor(Date.now() / 1000)', 'signed'],
  ['dev/bootstrap.js', 'utimesSync(LIST, new Date(), new Date())', 'times of files'],
  ['dev/build.mjs', 'started = new Date()', 'times of files'],
  ['dev/chain/node.ts', 'Math.floor(Date.now() / 1000) - 40', 'times of blocks'],
  ['dev/chain/attestations.ts', 'Math.floor((Date.now() / 1000', 'times of blocks'],
  ['dev/chain/local-chain.ts', "'anvil_setTime', [Date.now()]", 'times of blocks'],
  ['dev/witness.ts', 'Math.floor(Date.now() / 1000)', 'signed'],
  ['dev/hunt.mjs', 'date: new Date().toISOString()', 'when a seed was found'],
  ['dev/lock.ts', 'since: new Date().toISOString()', 'when a world was started'],
  ['dev/release.mjs', 'day = new Date()', 'the date of a release'],
  ['web/sheet/index.tsx', 'expires * 1000 < Date.now()', 'compared with an expiry'],
  ['web/sheet/checks.tsx', 'checkStanding(reading, Date.now())', 'compared with an expiry'],
  ['web/explorer/time-filter.tsx', ': Date.now()\n', 'the days of a calendar'],
  ['web/explorer/time-filter.tsx', 'Math.min(Date.now(),', 'the days of a calendar'],
  ['web/explorer/time-filter.tsx', 'dayOf(Date.now())', 'the days of a calendar'],
  ['web/explorer/time-filter.tsx', 'new Date(Date.now() - days * DAY_MS)', 'the days of a calendar'],
  ['packages/client/src/http.ts', 'Date.parse(retryAfter) - Date.now()', 'compared with a date of a proxy'],
  ['packages/witness/src/folder.ts', 'Date.now() - 1_000 * uptime()', 'compared with the time of a file'],
]
test('a monotonic clock measures durations, and the system clock is read for timestamps only', () => {
  const scripts = readdirSync('dev').filter((file) => /\.m?js$/.test(file))
  const all = [...files, ...inPackages, ...sourcesIn('web'), ...scripts.map((file) => `dev/${file}`)]
  const code = new Map(all.map((file) => [file, source(file)]))
  for (const [file, text] of TIMESTAMPS) {
    const [before, ...after] = code.get(file)!.split(text)
    expect([file, text, after.length, WALL_TIME.test(text)]).toEqual([file, text, 1, true])
    code.set(file, [before, ...after].join(' '))
  }
  expect([...code].filter(([, text]) => WALL_TIME.test(text)).map(([file]) => file)).toEqual([])
  // Uses of the clock that api/copy.ts passes on. As a positional argument, the clock may be passed only to a
  // reader of blocks, which compares the blocks' times with it.
  const handed = holders(/\bnew (?!ChainReader\b)\w+\((?:[^(){}]*, )?(?:parts\.)?clock\b(?!\()/)
  expect(handed.filter((file) => file.startsWith('api/'))).toEqual([])
  for (const read of ['Date.now', 'Date.now()', 'new Date', 'new Date( )', 'Date()'])
    expect([read, WALL_TIME.test(`x = ${read}`)]).toEqual([read, true])
  for (const other of ['new Date(now)', 'new Date(\n  now)', 'Date.parse(x)', 'anyDate()'])
    expect([other, WALL_TIME.test(other)]).toEqual([other, false])
})
test('optional packages are imported where they are needed, never when a file is loaded', () => {
  const { optionalDependencies } = JSON.parse(readFileSync('ops/optional/package.json', 'utf8')) as {
    optionalDependencies: Record<string, string>
  }
  const packages = Object.keys(optionalDependencies).join('|')
  expect(packages).toContain('@subsquid/graphql-server')
  const eager = new RegExp(`^(import|export)\\s(?!type\\b)[^';(]*'(${packages})(/[^']*)?'`, 'm')
  expect(holders(eager)).toEqual([])
})
