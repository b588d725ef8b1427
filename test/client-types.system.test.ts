import { readFileSync } from 'node:fs'
import path from 'node:path'
import openapiTS, { astToString } from 'openapi-typescript'
import ts from 'typescript'
import { beforeAll, describe, expect, test } from 'vitest'
import { attest, locationRequest } from '../dev/chain'
import { startTestWorld, type TestWorld } from './world'

/** Tests a client generated from the service's OpenAPI document in the same way as users generate theirs. */
let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld()
})

/** Parsed files other than the schema, shared by all compilations. */
const parsed = new Map<string, ts.SourceFile | undefined>()

/**
 * Errors of the compiler in test/client/client.ts, in strict mode, with these types instead of `./schema`.
 */
function compile(schema: string): string[] {
  const schemaFile = path.resolve('test/client/schema.d.ts')
  const lib = ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts']
  const target = ts.ScriptTarget.ES2022
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    noUncheckedIndexedAccess: true,
    target,
    module: ts.ModuleKind.Preserve,
    lib,
    types: [],
    skipLibCheck: true,
  }
  const files = ts.createCompilerHost(options)
  const isSchema = (file: string) => path.resolve(file) === schemaFile
  const host: ts.CompilerHost = {
    ...files,
    fileExists: (file) => isSchema(file) || files.fileExists(file),
    readFile: (file) => (isSchema(file) ? schema : files.readFile(file)),
    getSourceFile: (file, ...more) => {
      if (isSchema(file)) return ts.createSourceFile(file, schema, target)
      if (!parsed.has(file)) parsed.set(file, files.getSourceFile(file, ...more))
      return parsed.get(file)
    },
  }
  const program = ts.createProgram([path.resolve('test/client/client.ts')], options, host)
  return ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
    const line = file && start !== undefined ? file.getLineAndCharacterOfPosition(start).line + 1 : 0
    return `${file ? path.basename(file.fileName) : ''}:${line} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
  })
}

describe('the types that openapi-typescript generates from /openapi.json', () => {
  test('compile with a client of every endpoint, without a cast', async () => {
    const { body: document } = await world.get('/openapi.json')
    const types = astToString(await openapiTS(document))
    expect(compile(types)).toEqual([])
    // The generator emits unknown for anything unsupported.
    expect(types.match(/^.*[|&] unknown.*$|\(unknown.*$/gm)).toBeNull()
    expect(compile(types.replace('containee: ', 'somethingElse: '))).toContainEqual(
      expect.stringContaining('containee'),
    )
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
