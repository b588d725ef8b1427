import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import openapiTS, { astToString } from 'openapi-typescript'
import { beforeAll, describe, expect, test } from 'vitest'
import { attest, locationRequest } from '../dev/chain'
import { compile } from './typescript'
import { startTestWorld, type TestWorld } from './world'

/** Tests a client generated from the service's OpenAPI document in the same way as users generate theirs. */
let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld()
})

/** Errors of the compiler in test/client/client.ts, in strict mode, with each of these `./schema`. */
function errorsWith(schemas: Record<string, string>): string[] {
  // The folder is in the project, because the client imports its packages.
  mkdirSync('.local', { recursive: true })
  const folder = mkdtempSync(path.resolve('.local/client-'))
  try {
    for (const [name, schema] of Object.entries(schemas)) {
      mkdirSync(path.join(folder, name))
      cpSync('test/client/client.ts', path.join(folder, name, 'client.ts'))
      writeFileSync(path.join(folder, name, 'schema.d.ts'), schema)
    }
    const options = [
      '--strict',
      '--noEmit',
      '--noUncheckedIndexedAccess',
      '--skipLibCheck',
      '--target',
      'es2022',
    ]
    const modules = [
      '--ignoreConfig',
      '--module',
      'preserve',
      '--lib',
      'es2023,dom,dom.iterable',
      '--types',
      '',
    ]
    const clients = Object.keys(schemas).map((name) => path.join(name, 'client.ts'))
    return compile([...options, ...modules, ...clients], folder)
      .split('\n')
      .filter(Boolean)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe('the types that openapi-typescript generates from /openapi.json', () => {
  test('compile with a client of every endpoint, without a cast', async () => {
    const { body: document } = await world.get('/openapi.json')
    const types = astToString(await openapiTS(document))
    const errors = errorsWith({ types, changed: types.replace('containee: ', 'somethingElse: ') })
    expect(errors.filter((line) => !line.startsWith('changed/') && !line.startsWith(' '))).toEqual([])
    expect(errors).toContainEqual(expect.stringMatching(/^changed\/client\.ts.*containee/))
    // The generator emits unknown for anything unsupported.
    expect(types.match(/^.*[|&] unknown.*$|\(unknown.*$/gm)).toBeNull()
    const asked = [...readFileSync('test/client/client.ts', 'utf8').matchAll(/\.(GET|POST)\('([^']+)'/g)].map(
      ([, method, route]) => `${method} ${route}`,
    )
    const described = Object.entries(document.paths as object).flatMap(([route, item]) =>
      Object.keys(item as object).map((method) => `${method.toUpperCase()} ${route}`),
    )
    expect(described.filter((each) => !asked.includes(each))).toEqual([
      'GET /api/v0/schemas',
      'GET /api/v0/location-records/stream',
      'GET /tiles/location-records.json',
      'GET /tiles/location-records/{z}/{x}/{y}.mvt',
      'GET /graphql',
    ])
  })

  test('match the responses that the client receives', async () => {
    const { vectors } = JSON.parse(readFileSync('test/vectors/offchain-vectors.json', 'utf8'))
    const { document } = vectors.find(({ id }: { id: string }) => id === 'public-valid-v2-base-sepolia')
    const uid = await attest(world.chain, locationRequest({ type: 'Point', coordinates: [13.4, 52.5] }))
    await world.caughtUp()
    // The module is imported by a computed path, because its ./schema exists only in the compilation.
    const { askEverything } = await import(path.resolve('test/client/client.ts'))
    expect(await askEverything(world.url, world.chain.chain.id, uid, document)).toMatchObject({
      ...{
        metres: expect.closeTo(878_000, -4),
        contained: true,
        near: true,
        meet: true,
        long: 'meters',
        offchain: [document.sig.uid, expect.any(String)],
        nothing: '0',
        again: false,
        ours: true,
        where: null,
      },
      ...{
        records: [{ uid }],
        stats: 1,
        results: [],
        answer: undefined,
        active: true,
        geometries: [{ type: 'Point', coordinates: [13.4, 52.5] }],
        text: expect.stringContaining(uid),
        healthy: 'healthy',
        document: '3.1.0',
      },
      ...{
        tools: expect.arrayContaining([expect.objectContaining({ name: 'distance' })]),
        told: expect.stringMatching(/^# /),
        graphql: { locationRecords: { nodes: [{ uid }] } },
        problem: { status: 400, title: 'Invalid Input' },
        nonces: [0, 1],
        calls: [world.chain.proxy, expect.any(Number)],
        inputRef: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      },
    })
  })
})
