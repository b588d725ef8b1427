// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { buildProgram } from './program'

/** Parsers of options and arguments, which reject an invalid value before a command runs. */
const HEX = (digits: number) => `0x${'ab'.repeat(digits / 2)}`

async function optionsOf(words: string[], env: NodeJS.ProcessEnv = {}): Promise<object> {
  let given: object = {}
  const { stdout, stderr } = process
  const program = buildProgram('1', async (_work, options) => void (given = options), { stdout, stderr, env })
  await program.parseAsync(words, { from: 'user' })
  return given
}

test.each([
  ['verify', HEX(64), '--max-age', ...['1e999', '-1', '', 'old', '0x10', 'Infinity']],
  ['verify', HEX(64), '--schema', ...['0x12', HEX(66), '']],
  ['verify', HEX(64), '--attester', ...['foo', HEX(38), '']],
  [
    'verify',
    HEX(64),
    '--contracts',
    ...['foo', '84532', `84532:${HEX(38)}`, `0:${HEX(40)}`, `1:${HEX(40)},`, `1:${HEX(40)},1:${HEX(40)}`],
  ],
  [
    ...['log', 'monitor', '--quorum-contracts'],
    ...['foo', `84532:${HEX(38)}`, `0:${HEX(40)}`, `1:${HEX(40)}:${HEX(40)}`, `1:${HEX(40)},1:${HEX(40)}`],
  ],
  ['verify', HEX(64), '--chain', ...['', ' ', 'a,b']],
  ['verify', HEX(64), '--timeout', ...['-1', 'soon', '1e999', '2147484']],
  ['log', 'monitor', '--every', ...['-1', 'often', '2147484']],
  ['records', '', '--limit', ...['0', '1.5', '-3', '1e400', 'all']],
  ['records', '', '--radius', ...['-1', 'far']],
  ['attest', '1,2', '--time', ...['yesterday', '2026-13-01', '2026-02-31', '2027-02-29T12:00Z', '']],
  ['attest', '1,2', '--expiration', ...['2027-02-30', '2027-04-31T00:00-02:00']],
  ['attest', '1,2', '--schema', ...['0x12', '']],
])('the option reader rejects %s %s %s: %s', async (command, argument, option, ...wrong) => {
  for (const value of wrong)
    await expect(optionsOf([command, ...(argument ? [argument] : []), `${option}=${value}`])).rejects.toThrow(
      new RegExp(`^error: option '${option} <\\w+>' argument '${value}' is invalid. Expected `),
    )
})

test('the option reader parses environment variables like options', async () => {
  await expect(optionsOf(['chains'], { GEO_ATTESTER: 'foo' })).rejects.toThrow(
    "option '--attester <address>' value 'foo' from env 'GEO_ATTESTER' is invalid. Expected an address",
  )
  const env = { GEO_ATTESTER: HEX(40), GEO_KEY_FILE: 'a', GEO_URL: '' }
  expect(await optionsOf(['mcp', '--key-file', 'b'], env)).toMatchObject({
    ...{ attester: HEX(40), keyFile: 'b' },
    url: 'http://127.0.0.1:3000',
  })
  expect(await optionsOf(['mcp'], env)).toMatchObject({ keyFile: 'a' })
})

test('the option reader ignores the environment variables of the process', async () => {
  process.env.GEO_KEY_FILE = 'a'
  try {
    expect(await optionsOf(['mcp'])).not.toHaveProperty('keyFile')
  } finally {
    delete process.env.GEO_KEY_FILE
  }
})

test('the option reader converts valid values', async () => {
  const words = ['verify', HEX(64), '--max-age', '0.5e1', '--schema', HEX(64), '--chain', '84532']
  expect(await optionsOf([...words, '--attester', HEX(40), '--timeout', '0'])).toMatchObject({
    ...{ maxAge: 5, schema: HEX(64), chain: '84532', attester: HEX(40), timeout: 0 },
  })
  expect(
    await optionsOf(['chains', '--contracts', `84532:${HEX(40)}:${HEX(40)},10:${HEX(40)}`]),
  ).toMatchObject({ contracts: { 84532: { eas: HEX(40), proxy: HEX(40) }, 10: { eas: HEX(40) } } })
  expect(await optionsOf(['attest', '1,2', '--time', '2026-11-22T10:00'])).toMatchObject({
    time: new Date('2026-11-22T10:00Z'),
  })
  for (const time of ['2028-02-29', '2026-12-31T23:30-02:00'])
    expect(await optionsOf(['attest', '1,2', '--time', time])).toMatchObject({ time: new Date(time) })
})
