import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { CHAINS, settingSuffix } from './chains'
import { SettingsError, parseSettingsFile, readSettings } from './config'
import { sentence, testSentences } from '../test/sentences'

/** The result schemas of docs/spec/facts.md 2, without spaces after commas. */
const NUMERIC_RESULT_SCHEMA_UID = '0xc2b013ecb68d59b28f5d301203ec630335d97c37b400b16b359db6972572e02a'
const BOOLEAN_RESULT_SCHEMA_UID = '0x4958625091a773dcfb37a1c33099a378f32a975a7fb61f33d53c4be7589898f5'

const complete = {
  DATABASE_URL: 'postgres://u:p@db/x',
  RPC_URL_CELO: 'https://celo.example',
  SIGNER_PRIVATE_KEY: '11'.repeat(32),
}

test('one error lists all missing and invalid settings', () => {
  expect(() => readSettings({}, ['database', 'chains', 'signer'])).toThrow(SettingsError)
  expect(() =>
    readSettings({ CHAINS: 'celo,base', PORT: 'x', TRUST_PROXY: '' }, ['database', 'chains', 'signer']),
  ).toThrow(sentence('PORT'))
})
test('the settings that are missing are named with none of CHAINS, too', () => {
  expect(() => readSettings({}, ['database', 'chains'])).toThrow(sentence('DATABASE_URL'))
})
test('what asks no endpoint needs none, and takes the chains of CHAINS or all', () => {
  const [database, chains] = ['postgres://u:p@db/x', ['celo', 'base']]
  const slugs = (settings: NodeJS.ProcessEnv) =>
    readSettings({ DATABASE_URL: database, ...settings }, ['database']).namedChains.map(({ slug }) => slug)
  expect(slugs({ CHAINS: chains.join() })).toEqual(chains)
  expect(slugs({})).toEqual(CHAINS.map(({ slug }) => slug))
})
test.each([
  [{ CHAINS: 'mars' }, 'CHAINS'],
  [{ RATE_LIMIT_PER_HOUR: '-1' }, 'RATE_LIMIT_PER_HOUR'],
  [{ DATABASE_URL: 'mysql://x' }, 'DATABASE_URL'],
  [{ SIGNER_PRIVATE_KEY: 'abc' }, 'SIGNER_PRIVATE_KEY'],
  [{ SIGNER_KEY_FILE: '/key' }, 'SIGNER_KEY_FILE and SIGNER_PRIVATE_KEY'],
  [
    { SIGNER_URL: 'https://signer.example', SIGNER_PKCS11_TOKEN: 'geo' },
    'SIGNER_PRIVATE_KEY and SIGNER_PKCS11_MODULE and SIGNER_URL',
  ],
  [
    { SIGNER_PRIVATE_KEY: '', SIGNER_PKCS11_MODULE: '/lib/p11.so', SIGNER_PKCS11_KEY: 'signer' },
    'SIGNER_PKCS11_TOKEN',
  ],
  [
    { SIGNER_PRIVATE_KEY: '', SIGNER_URL: 'https://signer.example', SEAL_SECRET_FILE: '/seal' },
    'ATTESTER_ADDRESS',
  ],
  [{ SIGNER_PKCS11_KEY: 'id:xyz' }, 'SIGNER_PKCS11_KEY'],
  [{ OTHER_ATTESTERS: '0x12' }, 'OTHER_ATTESTERS'],
  [{ TRUST_PROXY: 'true' }, 'TRUST_PROXY'],
  [{ PUBLIC_BASE_URL: 'https://x.example:port' }, 'PUBLIC_BASE_URL'],
  [{ OFFCHAIN_URIS: 'maybe' }, 'OFFCHAIN_URIS'],
  [{ IPFS_GATEWAYS: 'https://a.example, b.example' }, 'IPFS_GATEWAYS'],
  [{ WALLET_AUTH: 'maybe' }, 'WALLET_AUTH'],
  [{ WALLET_MAX_SKEW_SECONDS: '0' }, 'WALLET_MAX_SKEW_SECONDS'],
  [{ HEAD_POLL_SECONDS: '0' }, 'HEAD_POLL_SECONDS'],
])('%j is refused', (changes, field) => {
  expect(() => readSettings({ ...complete, ...changes }, [])).toThrow(sentence(field))
})
test('defaults and values of the environment', () => {
  const settings = readSettings(
    { ...complete, REDIS_URL: '', TRUST_PROXY: '10.0.0.0/8, ::1', PUBLIC_BASE_URL: 'https://x.example/' },
    ['database', 'chains', 'signer'],
  )
  expect(settings).toMatchObject({
    ...{
      databaseUrl: 'postgres://u:p@db/x',
      redisUrl: undefined,
      host: '127.0.0.1',
      port: 3000,
      publicBaseUrl: 'https://x.example',
    },
    ...{
      deploymentName: 'unnamed',
      trustProxy: ['10.0.0.0/8', '::1'],
      rateLimitPerHour: 100,
      deadlineSeconds: 3600,
      schemaCheck: true,
    },
    chains: [{ rpcUrls: ['https://celo.example'], headPollMs: 2000, chain: { id: 42220 } }],
  })
  expect(Object.isFrozen(settings)).toBe(true)
})
test('nothing is fetched unless allowed, and then from these gateways', () => {
  expect(readSettings(complete, [])).toMatchObject({ offchainUris: false, ipfsGateways: [] })
  expect(
    readSettings(
      { ...complete, OFFCHAIN_URIS: 'true', IPFS_GATEWAYS: 'https://a.example, http://ipfs:8080' },
      [],
    ),
  ).toMatchObject({ offchainUris: true, ipfsGateways: ['https://a.example', 'http://ipfs:8080'] })
})
test('signed requests are off unless asked for', () => {
  const wallet = (changes: NodeJS.ProcessEnv) => readSettings({ ...complete, ...changes }, []).wallet
  expect([wallet({}), wallet({ WALLET_AUTH: 'false', WALLET_RATE_LIMIT_PER_HOUR: '5' })]).toEqual([
    undefined,
    undefined,
  ])
  expect(wallet({ WALLET_AUTH: 'true' })).toEqual({
    perHour: 1000,
    perHourByAddress: 2000,
    maxSkewSeconds: 300,
  })
  expect(
    wallet({
      WALLET_AUTH: 'true',
      WALLET_RATE_LIMIT_PER_HOUR: '5',
      WALLET_IP_RATE_LIMIT_PER_HOUR: '6',
      WALLET_MAX_SKEW_SECONDS: '7',
    }),
  ).toEqual({ perHour: 5, perHourByAddress: 6, maxSkewSeconds: 7 })
})
/** The signer's settings, and what is secret in them. */
function signerOf(changes: NodeJS.ProcessEnv) {
  const settings = readSettings({ ...complete, ...changes }, ['signer'])
  const { signer } = settings
  const secret = () =>
    signer?.kind === 'key' ? signer.readKey() : signer?.kind === 'pkcs11' && signer.readPin()
  return { settings, signer, secret }
}
test('the settings as JSON do not contain the key', () => {
  const { settings, secret } = signerOf({})
  expect(secret()).toBe(`0x${'11'.repeat(32)}`)
  expect(JSON.stringify(settings)).not.toContain('1111')
})
test('a missing or invalid file of a secret gives a clear error', () => {
  const key = (file: string) => signerOf({ SIGNER_PRIVATE_KEY: '', SIGNER_KEY_FILE: file }).secret
  expect(key('/nowhere/key')).toThrow(sentence('SIGNER_KEY_FILE'))
  expect(key('package.json')).toThrow(sentence('SIGNER_KEY_FILE'))
  const pin = signerOf({
    ...{ SIGNER_PRIVATE_KEY: '', SIGNER_PKCS11_MODULE: '/lib/p11.so', SIGNER_PKCS11_TOKEN: 'geo' },
    ...{
      SIGNER_PKCS11_KEY: 'id:0aFF',
      SIGNER_PKCS11_PIN_FILE: '/nowhere/pin',
      SEAL_SECRET_FILE: '/nowhere/seal',
    },
  })
  expect(pin.secret).toThrow(sentence('SIGNER_PKCS11_PIN_FILE'))
  expect(pin.settings.readSealSecrets).toThrow(sentence('SEAL_SECRET_FILE'))
  expect(signerOf({ SEAL_SECRET_FILE: 'package.json' }).settings.readSealSecrets).toThrow(
    sentence('SEAL_SECRET_FILE'),
  )
})
describe('the settings are documented', () => {
  const perChain = CHAINS.flatMap((chain) => [
    `RPC_URL_${settingSuffix(chain)}`,
    `GATEWAY_URL_${settingSuffix(chain)}`,
    `PROXY_${settingSuffix(chain)}`,
  ])
  /** Each setting's default as src/config.ts writes it. */
  const defaults = new Map([
    ...[
      ...readFileSync('src/config.ts', 'utf8').matchAll(
        /^ {6}([A-Z][A-Z0-9_]+): [^{]*\{[^}]*\bdefault: ([^}]+?),?\s*\}\)/gm,
      ),
    ].map((match): [string, string] => [match[1]!, match[2]!]),
    ...perChain.map((name): [string, string] => [name, 'undefined']),
  ])
  // Another name of DATABASE_URL, which the migration tool reads.
  defaults.delete('DB_URL')
  const named = { NUMERIC_RESULT_SCHEMA_UID, BOOLEAN_RESULT_SCHEMA_UID } as Record<string, string>
  /** The default as the documents write it; undefined when there is none. */
  const shown = (name: string) => {
    const text = named[defaults.get(name)!] ?? defaults.get(name)!.replace(/^'(.*)'$/, '$1')
    return ['undefined', '[]'].includes(text) ? undefined : text
  }

  test('.env.example names every setting with its default, and no other', () => {
    const text = readFileSync('.env.example', 'utf8')
    const settings = [...text.matchAll(/^#?\s?([A-Z][A-Z0-9_]+)=/gm)].map((match) => match[1]!)
    expect(new Set(settings)).toEqual(new Set(defaults.keys()))
    const groups = text.split(/(?<=^[A-Z0-9_]+=.*\n)(?=#|\n)/m)
    for (const name of defaults.keys()) {
      const group = groups.find((lines) => new RegExp(`^${name}=`, 'm').test(lines))!
      expect(group, name).toMatch(/\bDefaults?:|\brequired\b/)
      expect(group, name).toContain(shown(name) ?? '')
    }
  })
  test('docs/reference/settings.md names every setting with its default, and no other', () => {
    const table = new Map(
      [
        ...readFileSync('docs/reference/settings.md', 'utf8').matchAll(/^\| `([A-Z0-9_]+)` \| (.*?) \|/gm),
      ].map((match): [string, string] => [match[1]!, match[2]!]),
    )
    expect([...table.keys()].sort()).toEqual([...defaults.keys()].sort())
    // These defaults depend on other settings, on the chain, or on the machine.
    const workedOut = ['API_PROCESSES', 'PUBLIC_BASE_URL', 'CHAINS', 'HEAD_POLL_SECONDS']
    for (const [name, text] of table)
      if (!workedOut.includes(name))
        expect([name, text]).toEqual([name, shown(name) ? `\`${shown(name)}\`` : 'none'])
  })
})

describe('a settings file that is no JSON', () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  test.each<[string, string]>([
    ['cut', `[{"secret":"${secret}`],
    ['a comma too many', `[\n  {"secret":"${secret}",}]`],
    ['no quotes', `[{"secret":${secret}}]`],
    ['empty', ''],
    ['a key twice', `[{"secret":"${secret}","secret":"${secret}"}]`],
  ])('%s: is told without its content', (_, text) => {
    const error = (() => {
      try {
        return parseSettingsFile(text)
      } catch (thrown) {
        return thrown as Error
      }
    })() as Error
    expect(error.message).toEqual(sentence())
    expect(error.message).not.toMatch(/whsec|MfKQ/)
    expect(error.cause).toBeUndefined()
  })
  test('says where, if the parser does', () => {
    expect(() => parseSettingsFile('[\n  {"id": "a",}\n]')).toThrow(sentence())
  })
})

testSentences()
