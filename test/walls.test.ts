import { readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

/** The house's walls (README, Layout), read off the source's own lines. */
const files = ['src', 'api', 'dev'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.ts$/.test(file) && !/\.test\.ts$/.test(file))
    .map((file) => path.posix.join(folder, file.replaceAll('\\', '/'))),
)
const source = (file: string) => readFileSync(file, 'utf8')
const imports = (file: string) =>
  [...source(file).matchAll(/(?:from|import|require\()\s*'([^']+)'/g)].map((match) =>
    match[1]!.startsWith('.') ? path.posix.join(path.posix.dirname(file), match[1]!) : match[1]!,
  )
const under = (folder: string) => files.filter((file) => file.startsWith(folder))
/** Every import out of these files that leads to one of those places. */
const crossings = (from: string[], to: RegExp) =>
  from.flatMap((file) =>
    imports(file)
      .filter((target) => to.test(target))
      .map((target) => `${file} -> ${target}`),
  )
const holders = (text: RegExp) => files.filter((file) => text.test(source(file)))

test('the walls are read at all', () => {
  expect(files.length).toBeGreaterThan(20)
  expect(imports('api/main.ts')).toContain('src/config')
})
test('the rooms import nothing of ours', () => {
  expect(crossings(under('src/geodesy/'), /^(src|api|dev)\/(?!geodesy)|^ethers/)).toEqual([])
  expect(crossings(under('src/eas/'), /^(src|api|dev)\/(?!eas)/)).toEqual([])
  expect(
    new Set(
      under('src/eas/')
        .flatMap(imports)
        .filter((target) => !target.startsWith('src/')),
    ),
  ).toEqual(new Set(['ethers', 'hash-wasm', 'node:crypto', 'secp256k1/bindings']))
})
test("src never imports api or dev; api never imports dev nor the indexer's parts", () => {
  expect(crossings(under('src/'), /^(api|dev|test|bench)\//)).toEqual([])
  expect(
    crossings(
      under('api/'),
      /^(dev|test|bench)\/|^src\/(model|abi|main|processor|project|bodies|source|history|head|blocks|doubt|lease|metrics|proof|audit|database)/,
    ),
  ).toEqual([])
})
test("one place each: SQL, the environment, the key, outgoing calls, the indexer's store", () => {
  expect(
    holders(/\b(SELECT|INSERT INTO|UPDATE|DELETE FROM)\b[^]*?\b(FROM|VALUES|SET)\b/).filter(
      (file) => file.startsWith('api/') && !/^api\/store[^/]*\.ts$/.test(file),
    ),
  ).toEqual([])
  expect(holders(/process\.env\b|loadEnvFile/)).toEqual(['src/config.ts'])
  expect(holders(/\b(SigningKey|keySigner)\b/).filter((file) => !file.startsWith('src/eas/'))).toEqual([
    'api/attester.ts',
  ])
  // A call of the global fetch, not of a method of that name, and the modules that open connections (type imports aside).
  expect(holders(/(?:await|return|=>|=|\()\s*fetch\(/).filter((file) => !file.startsWith('dev/'))).toEqual([
    'api/chain-reader.ts',
  ])
  expect(
    holders(
      /import (?!type)[^\n]*\b(?:Client|Agent|Pool|request|fetch|connect|get)\b[^\n]* from '(?:undici|node:(?:https?|http2|net|tls))'/,
    ).filter((file) => !file.startsWith('dev/')),
  ).toEqual(['api/fetcher.ts'])
  expect(holders(/\b(INSERT INTO|UPDATE|DELETE FROM)\b/).filter((file) => file.startsWith('src/'))).toEqual([
    'src/database.ts',
  ])
})
