import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'vite'
import { beforeAll, describe, expect, test } from 'vitest'
import { testAccount } from '../dev/chain'
import { openPage } from './browser'
import { temporaryFolder } from './database'
import { serve } from './http-server'
import { compile } from './typescript'
import { startTestWorld, type TestWorld } from './world'
import { needing, withChromium } from './needs'

/**
 * Tests the packages from `npm pack` in an empty project with only their files and the packages that they
 * declare.
 */
const SCOPE = '@geospatial-attestation'
const PACKAGES = readdirSync('packages').filter((name) => existsSync(`packages/${name}/rolldown.config.mjs`))
interface Manifest {
  name: string
  version: string
  license: string
  dependencies?: Record<string, string>
  bin?: Record<string, string>
}
const manifestOf = (name: string) =>
  JSON.parse(readFileSync(`packages/${name}/package.json`, 'utf8')) as Manifest
const run = promisify(execFile)

let world: TestWorld
let project: string
const listed = new Map<string, string[]>()
beforeAll(async () => {
  project = temporaryFolder()
  const modules = path.join(project, 'node_modules')
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const workspaces = PACKAGES.map((name) => `--workspace=packages/${name}`)
  const packed = execFileSync(npm, ['pack', '--json', '--pack-destination', project, ...workspaces], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const archives = JSON.parse(packed) as { name: string; filename: string; files: { path: string }[] }[]
  for (const name of PACKAGES) {
    const folder = path.join(modules, SCOPE, name)
    mkdirSync(folder, { recursive: true })
    const { filename, files } = archives.find((each) => each.name === `${SCOPE}/${name}`)!
    listed.set(
      name,
      files.map((file) => file.path),
    )
    execFileSync('tar', ['xzf', path.join(project, filename), '-C', folder, '--strip-components=1'])
    for (const dependency of Object.keys(manifestOf(name).dependencies ?? {})) {
      const link = path.join(modules, dependency)
      if (dependency.startsWith(`${SCOPE}/`) || existsSync(link)) continue
      mkdirSync(path.dirname(link), { recursive: true })
      // If the root has another version of a dependency, npm installs a separate copy for the package.
      const own = path.resolve('packages', name, 'node_modules', dependency)
      symlinkSync(existsSync(own) ? own : path.resolve('node_modules', dependency), link, 'junction')
    }
  }
  world = await startTestWorld()
})

describe.each(PACKAGES)('the package %s', (name) => {
  test('contains its build, licence and page, and no other file', () => {
    const files = listed.get(name)!
    const folder = path.join(project, 'node_modules', SCOPE, name)
    const bins = Object.values(manifestOf(name).bin ?? {}).map((file) => path.posix.normalize(file))
    const others = files.filter((file) => !bins.includes(file))
    expect(
      others.filter((file) => !/^(dist\/[^/]+|package\.json|README\.md|LICENSE|NOTICE)$/.test(file)),
    ).toEqual([])
    const built = bins.length ? bins : ['dist/index.mjs', 'dist/index.d.mts']
    for (const file of ['LICENSE', 'README.md', 'package.json', ...built]) expect(files).toContain(file)
    expect(readFileSync(path.join(folder, 'LICENSE'), 'utf8')).toMatch(/^MIT License/)
    expect(manifestOf(name).license).toBe('MIT')
  })
  test('declares the packages that its files import, which have permitted licences', () => {
    const declared = Object.keys(manifestOf(name).dependencies ?? {})
    const folder = path.join(project, 'node_modules', SCOPE, name, 'dist')
    const imported = new Set(
      readdirSync(folder)
        .filter((file) => /\.[mc]js$/.test(file))
        .flatMap((file) => [
          ...readFileSync(path.join(folder, file), 'utf8').matchAll(
            /(?:^|[;}\s])(?:import|export)\s?(?:[^'"();]*?\sfrom\s?)?["']([^'"]+)["']|(?<!['"`])(?:require|import)\(["']([^'"]+)["']\)/gm,
          ),
        ])
        .map((match) => match[1] ?? match[2]!)
        .filter((target) => !target.startsWith('.') && !target.startsWith('node:'))
        .map((target) =>
          target
            .split('/')
            .slice(0, target.startsWith('@') ? 2 : 1)
            .join('/'),
        ),
    )
    expect([...imported].filter((each) => !declared.includes(each))).toEqual([])
    const licenses = declared.map((dependency) => {
      const { license } = JSON.parse(
        readFileSync(path.join(project, 'node_modules', dependency, 'package.json'), 'utf8'),
      ) as Manifest
      return [dependency, license] as const
    })
    // A bundled program includes the packages that it depends on.
    if (manifestOf(name).bin)
      licenses.push(...carried(readFileSync(path.join(folder, 'LICENSES.txt'), 'utf8')))
    for (const [dependency, license] of licenses)
      expect([dependency, license]).toEqual([
        dependency,
        expect.stringMatching(/^(MIT|ISC|BSD.*|Apache-2\.0)$/),
      ])
  })
})

/** Name and licence of each package that a build includes: packages/licenses.mjs. */
function carried(text: string): (readonly [string, string])[] {
  const found = [...text.matchAll(/^(@?[\w./-]+) \d+\.\d+\.\S+ \(([^)]+)\)$/gm)]
  expect(found.length).toBeGreaterThan(0)
  return found.map(([, name, license]) => [name!, license!])
}

/** Requests an answer, lands it with an EIP-1193 wallet (the node), and prints the result. */
const PROGRAM = `
const wallet = {
  async request({ method, params = [] }) {
    if (method === 'eth_requestAccounts') return [ACCOUNT]
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const answer = await fetch(NODE, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const { result, error } = await answer.json()
    if (error) throw Object.assign(new Error(error.message), { data: error.data })
    return result
  },
}
async function main() {
  const geo = createGeo({ url: SERVICE, chain: 'base-sepolia', providers: { 84532: NODE } })
  const point = (lng, lat) => ({ type: 'Point', coordinates: [lng, lat] })
  const answer = await geo.distance(point(2.2945, 48.8584), point(13.3777, 52.5163), { submission: 'proxy' })
  const { uid } = await geo.land(answer, wallet)
  const { valid, says } = await geo.check(uid)
  return JSON.stringify([valid, says.result])
}
`
const EXPECTED = '[true,881329.94]'
const constants = () =>
  Object.entries({ SERVICE: world.url, NODE: world.chain.url, ACCOUNT: testAccount(4).address })
    .map(([name, value]) => `const ${name} = ${JSON.stringify(value)}`)
    .join('\n')
const print = 'main().then(console.log, (error) => { console.error(error); process.exitCode = 1 })'
function write(file: string, text: string): string {
  writeFileSync(path.join(project, file), text)
  return file
}
const esm = () => `import { createGeo } from '${SCOPE}/client'\n${constants()}${PROGRAM}`

test('the command line runs after its installation', async () => {
  const { bin } = manifestOf('cli')
  const geo = path.join(project, 'node_modules', SCOPE, 'cli', bin!.geo!)
  const question = ['distance', '2.2945,48.8584', '13.3777,52.5163']
  const { stdout } = await run(process.execPath, [geo, ...question, '--url', world.url], { cwd: project })
  expect(stdout).toMatch(/^881,329\.94 m\n/)
  expect((await run(process.execPath, [geo, '--version'])).stdout).toBe(`${manifestOf('cli').version}\n`)
})

test('the witness runs after its installation', async () => {
  const program = path.join(
    project,
    'node_modules',
    SCOPE,
    'witness',
    manifestOf('witness').bin!['geo-witness']!,
  )
  const { stdout } = await run(process.execPath, [program, 'init', 'witness.example.org/w1'], {
    cwd: project,
  })
  expect(stdout).toMatch(/^witness\.example\.org\/w1\+[0-9a-f]{8}\+B[A-Za-z0-9+/]{43}\n$/)
  expect((await run(process.execPath, [program, 'vkey'], { cwd: project })).stdout).toBe(stdout)
})

describe('the client package', () => {
  test('runs in Node as ESM and as CommonJS', async () => {
    const common = `const { createGeo } = require('${SCOPE}/client')\n${constants()}${PROGRAM}${print}`
    for (const file of [write('main.mjs', esm() + print), write('main.cjs', common)]) {
      const { stdout, stderr } = await run(process.execPath, [file], { cwd: project })
      expect([file, stderr, stdout.trim()]).toEqual([file, '', EXPECTED])
    }
  })

  const found = (name: string) =>
    (process.env.PATH ?? '')
      .split(path.delimiter)
      .map((folder) => path.join(folder, name))
      .find((file) => existsSync(file))
  needing(found('bun') ? [] : ['bun']).test('runs in Bun', async () => {
    const { stdout } = await run(found('bun')!, [write('bun.mjs', esm() + print)], { cwd: project })
    expect(stdout.trim()).toBe(EXPECTED)
  })
  needing(found('deno') ? [] : ['deno']).test('runs in Deno', async () => {
    const file = write('deno.mjs', esm() + print)
    const flags = ['run', '--allow-all', '--no-config', '--node-modules-dir=manual']
    const { stdout } = await run(found('deno')!, [...flags, file], { cwd: project })
    expect(stdout.trim()).toBe(EXPECTED)
  })

  test('has types for ESM, CommonJS and bundlers', async () => {
    const use = `
const geo: Geo = createGeo({ url: 'http://127.0.0.1:1', chain: 84532 })
export async function typed() {
  const metres: number = (await geo.distance('0x', { type: 'Point', coordinates: [1, 2] })).result
  const inside: boolean = (await geo.contains('0x', '0x')).result
  // @ts-expect-error -- a radius is a number
  await geo.within('0x', '0x', '5')
  // @ts-expect-error -- a verdict is a word
  const verdict: number = (await geo.recompute('0x')).verdict
  for await (const event of geo.records.stream()) if (event.kind === 'new') return event.record.uid
  return [metres, inside, verdict]
}
`
    const head = `import { createGeo, type Geo } from '${SCOPE}/client'\n`
    const files = [write('types.mts', head + use), write('types.cts', head + use)]
    const strict = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022', '--lib', 'es2023,dom']
    const resolutions = [
      ['--module', 'nodenext'],
      ['--module', 'preserve', '--moduleResolution', 'bundler'],
    ]
    for (const resolution of resolutions)
      expect([resolution, compile([...strict, ...resolution, ...files], project)]).toEqual([resolution, ''])
  })

  withChromium.test('runs in a browser, as a bundle of less than 53 kB compressed', async () => {
    const root = path.join(project, 'page')
    rmSync(root, { recursive: true, force: true })
    mkdirSync(root)
    write(
      'page/main.js',
      `${esm()}main().then((text) => (document.title = text), (error) => (document.title = error))`,
    )
    write(
      'page/index.html',
      '<!doctype html><link rel="icon" href="data:,"><script type="module" src="./main.js"></script>',
    )
    await build({ root, logLevel: 'error', configFile: false, build: { outDir: 'out' } })
    const out = path.join(root, 'out')
    const loaded = new Map<string, number>()
    const url = await serve((request, response) => {
      const file = path.join(out, request.url === '/' ? 'index.html' : request.url!)
      if (!existsSync(file)) return void response.writeHead(404).end()
      const bytes = readFileSync(file)
      loaded.set(request.url!, gzipSync(bytes).length)
      response.setHeader('content-type', file.endsWith('.js') ? 'text/javascript' : 'text/html')
      response.end(bytes)
    })
    await using browser = await openPage()
    const { page, complaints } = browser
    await page.goto(url)
    await page.waitForFunction('document.title !== ""')
    expect([await page.title(), complaints]).toEqual([EXPECTED, []])
    const scripts = [...loaded].filter(([url]) => url.endsWith('.js')).map(([, size]) => size)
    expect(scripts.reduce((sum, size) => sum + size, 0)).toBeLessThan(53_000)
  })
})
