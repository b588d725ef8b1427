import { existsSync, readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

/**
 * Checks that tests assert errors by kind, field and status instead of by sentence (CONTRIBUTING.md,
 * Conventions; sentences.ts).
 */
const tests = ['src', 'api', 'test', 'packages'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((file) => path.posix.join(folder, file.replaceAll('\\', '/')))
    .filter((file) => /\.test\.ts$/.test(file) && !/\/node_modules\//.test(file)),
)

/** Pattern of two words in a string, a template or a regular expression. */
const WORDS = String.raw`\s*(?:(?:new \w+\()?['"\x60/])[^'"\x60\n]*?[a-z]{2} [a-z]{2}`
const BY_WORDS = new RegExp(
  [
    String.raw`(?<!not)\.toThrow(?:Error)?\(${WORDS}`,
    String.raw`\b(?:detail|reason|problem):${WORDS}`,
    String.raw`\b(?:detail|message|reason|problem): expect\.string(?:Containing|Matching)\(${WORDS}`,
    String.raw`\b(?:detail|message|reason|problem|stderr|refused)\)?\)\.to(?:Be|Contain|Equal|Match)\(${WORDS}`,
    String.raw`\b(?:alert|refused)\([^\n]*\)\)\.to(?:Be|Contain|Equal|Match)\(${WORDS}`,
    // Words in a table or a variable. A matcher such as sentence() is never an argument of these.
    String.raw`\.to(?:Contain|Match)\((?:message|reason|text|words)\)`,
    String.raw`\bexpect\.string(?:Containing|Matching)\((?:expected|message|reason|text|words)\)`,
    String.raw`(?<!not)\.toThrow\((?:expected|text|words)\)`,
  ].join('|'),
  'g',
)

/** Files with remaining cases, and their number, which may only decrease. */
const LEFT: Record<string, number> = {
  'api/http/limits.service.test.ts': 1,
  'api/http/semaphore.test.ts': 1,
  'api/outgoing/fetcher.service.test.ts': 17,
  'api/records/routes.service.test.ts': 2,
  'api/service/openapi.service.test.ts': 6,
  'api/tiles/tiles.service.test.ts': 1,
  'packages/cli/test/batch.service.test.ts': 3,
  'packages/cli/test/cli.service.test.ts': 3,
  'packages/cli/test/process.system.test.ts': 1,
  'packages/cli/test/records.service.test.ts': 3,
  'packages/cli/test/refusals.service.test.ts': 23,
  'packages/client/test/attest.service.test.ts': 2,
  'packages/client/test/certain.service.test.ts': 1,
  'packages/client/test/client.service.test.ts': 6,
  'packages/client/test/exact-math.test.ts': 1,
  'packages/client/test/land.service.test.ts': 3,
  'packages/client/test/recompute.service.test.ts': 5,
  'packages/client/test/refused-places.service.test.ts': 2,
  'packages/mcp/test/mcp.service.test.ts': 8,
  'src/geodesy/hostile.test.ts': 4,
  'src/indexer/bodies.service.test.ts': 1,
  'src/indexer/run-command.service.test.ts': 1,
  'test/attest-page.system.test.ts': 1,
  'test/embedded.system.test.ts': 3,
  'test/endpoints.service.test.ts': 2,
  'test/liars.service.test.ts': 1,
  'test/playground.system.test.ts': 5,
  'test/proxy.service.test.ts': 1,
  'test/reorgs.chaos.test.ts': 1,
  'test/snapshot.service.test.ts': 1,
}

test('no test asserts an error by its text', () => {
  const found = tests.map((file): [string, number] => [
    file,
    [...readFileSync(file, 'utf8').matchAll(BY_WORDS)].length,
  ])
  expect(Object.fromEntries(found.filter(([, count]) => count > 0))).toEqual(LEFT)
})
test('each file of sentences belongs to a test that compares the file', () => {
  const pages = readdirSync('test/sentences', { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.txt'),
  )
  const compared = tests.filter((file) => /^testSentences\(\)$/m.test(readFileSync(file, 'utf8')))
  expect(pages.map((page) => page.replace(/\.txt$/, '.test.ts')).sort()).toEqual(compared.sort())
  expect(compared.every((file) => existsSync(file))).toBe(true)
})
