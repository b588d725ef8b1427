import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { parseEnv } from 'node:util'
import { describe, expect, test } from 'vitest'
import { CHAINS, settingSuffix } from './chains'
import { SettingsError, parseSettingsFile, readSettings } from './config'
import { LOCATION_SCHEMA } from './location'
import { parseSettings, removedSettings } from './settings/parse'
import { REMOVED, ROWS, SETTINGS, type Setting, type Values } from './settings/table'
import { sentence, testSentences } from '../test/sentences'

const complete = {
  DATABASE_URL: 'postgres://u:p@db/x',
  RPC_URL_CELO: 'https://celo.example',
  SIGNER_PRIVATE_KEY: '11'.repeat(32),
}

const TOKEN = {
  SIGNER_PRIVATE_KEY: '',
  SIGNER_URL: 'pkcs11:token=geo;object=signer?module-path=/lib/p11.so',
  ...{ SIGNER_PKCS11_PIN: '1', SEAL_SECRET_FILE: '/seal' },
}

test('the configuration reports all missing and invalid settings in one error', () => {
  expect(() => readSettings({}, ['database', 'chains', 'signer'])).toThrow(SettingsError)
  expect(() =>
    readSettings({ CHAINS: 'celo,base', PORT: 'x', TRUST_PROXY: '' }, ['database', 'chains', 'signer']),
  ).toThrow(sentence('PORT'))
})
test('the configuration names the missing settings, even if CHAINS is not set', () => {
  expect(() => readSettings({}, ['database', 'chains'])).toThrow(sentence('DATABASE_URL'))
})
test('the configuration names a missing endpoint, although that of a chain with a longer name is invalid', () => {
  const settings = { ...complete, CHAINS: 'base,base-sepolia', RPC_URL_BASE_SEPOLIA: 'ftp://x' }
  expect(() => readSettings(settings, ['chains'])).toThrow(/^  RPC_URL_BASE: missing/m)
})
test.each([
  'postgres://u:p%23@db:5432/x',
  'postgres://u:100%@one:5432,two:5432/x?sslmode=require',
  'postgresql:///x?host=/run/postgresql',
  'postgres://u@/x?host=/run/postgresql',
])('the configuration accepts the database %s', (url) => {
  expect(readSettings({ DATABASE_URL: url }, ['database']).databaseUrl).toBe(url)
})
test('the configuration counts an endpoint once that is listed in several spellings', () => {
  const RPC_URL_CELO = 'https://a.example,https://b.example/x,https://A.example:443/'
  const [celo] = readSettings({ ...complete, RPC_URL_CELO }, ['chains']).chains
  expect(celo!.rpcUrls).toEqual(['https://a.example', 'https://b.example/x'])
})
test('the configuration requires no endpoint for a program that needs none', () => {
  const [database, chains] = ['postgres://u:p@db/x', ['celo', 'base']]
  const slugs = (settings: NodeJS.ProcessEnv) =>
    readSettings({ DATABASE_URL: database, ...settings }, ['database']).namedChains.map(({ slug }) => slug)
  expect(slugs({ CHAINS: chains.join() })).toEqual(chains)
  expect(slugs({ CHAINS: 'celo,42220,base,CELO' })).toEqual(chains)
  expect(slugs({})).toEqual(CHAINS.map(({ slug }) => slug))
})
/** Databases whose URL has the right form, but parameters that pg refuses. */
const UNUSABLE = ['db/x?sslrootcert=.', 'db/x?uselibpqcompat=true&sslmode=verify-ca']
test.each([
  [{ CHAINS: 'mars' }, 'CHAINS'],
  [{ CHAINS: ',' }, 'CHAINS'],
  [{ RATE_LIMIT_PER_HOUR: '-1' }, 'RATE_LIMIT_PER_HOUR'],
  [{ DATABASE_URL: 'mysql://x' }, 'DATABASE_URL'],
  [{ DATABASE_URL: 'postgres://u:p#1@db:5432/x' }, 'DATABASE_URL'],
  [{ DATABASE_URL: 'postgres://u:1#p@db:5432/x' }, 'DATABASE_URL'],
  [{ DATABASE_URL: 'postgres://u:p@one:5432,two:port/x' }, 'DATABASE_URL'],
  ...['u:%E9@db/x', '[::1]:5432/a%zz', 'db/x%', 'db/x?sslrootcert=/nowhere', ...UNUSABLE].flatMap(
    (rest): [object, string][] =>
      ['DATABASE_URL', 'DATABASE_READ_URLS', 'GRAPHQL_DATABASE_URL'].map((name) => [
        { [name]: `postgres://${rest}` },
        name,
      ]),
  ),
  [{ REDIS_URL: 'redis://:p#1@redis:6379' }, 'REDIS_URL'],
  [{ REDIS_URL: 'redis://redis:6379/abc' }, 'REDIS_URL'],
  [{ REDIS_URL: 'redis://redis:6379/0/' }, 'REDIS_URL'],
  [{ RPC_URL_CELO: 'https://u:100%p@celo.example' }, 'RPC_URL_CELO'],
  [{ SIGNER_PRIVATE_KEY: 'abc' }, 'SIGNER_PRIVATE_KEY'],
  [{ SIGNER_KEY_FILE: '/key' }, 'SIGNER_PRIVATE_KEY and SIGNER_KEY_FILE'],
  [{ SIGNER_URL: 'https://signer.example' }, 'SIGNER_PRIVATE_KEY and SIGNER_URL'],
  [{ ...TOKEN, SIGNER_PKCS11_PIN: '' }, 'SIGNER_PKCS11_PIN_FILE'],
  [{ ...TOKEN, SEAL_SECRET_FILE: '' }, 'SEAL_SECRET_FILE'],
  [{ ...TOKEN, SIGNER_URL: 'https://signer.example' }, 'ATTESTER_ADDRESS'],
  [{ ATTESTER_ADDRESS: '0x12' }, 'ATTESTER_ADDRESS'],
  [{ ATTESTER_ADDRESS: ',' }, 'ATTESTER_ADDRESS'],
  ...['true', ' ', '10.0.0.0/33', '10.0.0.0/0', '::1/129', '10.0.0.0/8/8'].map((text): [object, string] => [
    { TRUST_PROXY: text },
    'TRUST_PROXY',
  ]),
  ...['https://x.example:port', 'https://x.example/?a=1', 'https://x.example/#y'].map(
    (text): [object, string] => [{ PUBLIC_BASE_URL: text }, 'PUBLIC_BASE_URL'],
  ),
  [{ HOST: '[::]' }, 'HOST'],
  [{ OFFCHAIN_URIS: 'maybe' }, 'OFFCHAIN_URIS'],
  [{ OFFCHAIN_URIS: 'https://a.example, b.example' }, 'OFFCHAIN_URIS'],
  [{ WALLET_AUTH: 'maybe' }, 'WALLET_AUTH'],
  [{ AUDIT_CALLS_PER_SECOND: '-1' }, 'AUDIT_CALLS_PER_SECOND'],
  [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL'],
  ...['a/b', 'a\\b', '*.internal', 'a:99999'].map((text): [object, string] => [
    { WEBHOOK_PRIVATE_HOSTS: text },
    'WEBHOOK_PRIVATE_HOSTS',
  ]),
  [{ INDEXER_METRICS_PORT: '0.0.0.0:65533' }, 'INDEXER_METRICS_PORT'],
  [{ DATABASE_READ_URLS: 'postgres://a, b' }, 'DATABASE_READ_URLS'],
  [{ DEFAULT_NUMERIC_SCHEMA: '0x12' }, 'DEFAULT_NUMERIC_SCHEMA'],
])('the configuration rejects %j', (changes, field) => {
  expect(() => readSettings({ ...complete, ...changes }, [])).toThrow(sentence(field))
})
test('the configuration accepts a port of metrics if each connected chain has one', () => {
  const { indexerMetrics } = readSettings({ ...complete, INDEXER_METRICS_PORT: '65532' }, [])
  expect(indexerMetrics).toEqual({ host: '127.0.0.1', port: 65_532 })
})
test('the configuration reads values of the environment, and returns defaults for other settings', () => {
  const settings = readSettings(
    {
      ...complete,
      REDIS_URL: '',
      TRUST_PROXY: '10.0.0.0/8, ::1, ::1/128',
      PUBLIC_BASE_URL: 'https://x.example/',
    },
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
      trustProxy: ['10.0.0.0/8', '::1', '::1/128'],
      rateLimitPerHour: 100,
      deadlineSeconds: 3600,
    },
    chains: [{ rpcUrls: ['https://celo.example'], headPollMs: 2000, chain: { id: 42220 } }],
  })
  expect(Object.isFrozen(settings)).toBe(true)
})
test('the configuration allows no fetch by default, and otherwise only the configured gateways', () => {
  const gateways = (OFFCHAIN_URIS?: string) =>
    readSettings({ ...complete, OFFCHAIN_URIS }, []).offchainGateways
  expect([gateways(), gateways('false')]).toEqual([undefined, undefined])
  expect(gateways('true')).toEqual([])
  expect(gateways('https://a.example, http://ipfs:8080')).toEqual(['https://a.example', 'http://ipfs:8080'])
})
test('the configuration disables signed requests by default', () => {
  const wallet = (changes: NodeJS.ProcessEnv) => readSettings({ ...complete, ...changes }, []).wallet
  expect([wallet({}), wallet({ WALLET_AUTH: 'false' })]).toEqual([undefined, undefined])
  expect(wallet({ WALLET_AUTH: 'true' })).toEqual({
    perHour: 1000,
    perHourByAddress: 2000,
    maxSkewSeconds: 300,
  })
  expect(wallet({ WALLET_AUTH: 'true', RATE_LIMIT_PER_HOUR: '0' })).toEqual(wallet({ WALLET_AUTH: 'true' }))
  expect(wallet({ WALLET_AUTH: 'true', RATE_LIMIT_PER_HOUR: '7' })).toMatchObject({
    perHour: 70,
    perHourByAddress: 140,
  })
})
/** Settings of signers, with the secrets that they contain. */
function signerOf(changes: NodeJS.ProcessEnv) {
  const settings = readSettings({ ...complete, ...changes }, ['signer'])
  const { signer } = settings
  const secret = () =>
    signer?.kind === 'key' ? signer.readKey() : signer?.kind === 'pkcs11' && signer.readPin()
  return { settings, signer, secret }
}
test('the configuration hides the key from JSON of the settings', () => {
  const { settings, secret } = signerOf({})
  expect(secret()).toBe(`0x${'11'.repeat(32)}`)
  expect(JSON.stringify(settings)).not.toContain('1111')
})
test('the configuration names the file of a secret that is missing or invalid', () => {
  const key = (file: string) => signerOf({ SIGNER_PRIVATE_KEY: '', SIGNER_KEY_FILE: file }).secret
  expect(key('/nowhere/key')).toThrow(sentence('SIGNER_KEY_FILE'))
  expect(key('package.json')).toThrow(sentence('SIGNER_KEY_FILE'))
  const pin = signerOf({
    ...TOKEN,
    SIGNER_PKCS11_PIN: '',
    SIGNER_PKCS11_PIN_FILE: '/nowhere/pin',
    SEAL_SECRET_FILE: '/nowhere/seal',
  })
  expect(pin.secret).toThrow(sentence('SIGNER_PKCS11_PIN_FILE'))
  expect(pin.settings.readSealSecrets).toThrow(sentence('SEAL_SECRET_FILE'))
  const { readSealSecrets } = signerOf({ SEAL_SECRET_FILE: 'package.json' }).settings
  expect(readSealSecrets).toThrow(sentence('SEAL_SECRET_FILE'))
})
describe('a secret of the configuration', () => {
  const file = (text: string) => {
    const path = join(mkdtempSync(join(tmpdir(), 'secret-')), 'file')
    writeFileSync(path, text)
    return path
  }
  const secrets = Object.entries<Setting>(ROWS).filter(([, { secret }]) => secret)
  const GIVEN: Record<string, string> = {
    databaseReadUrls: 'postgres://a/b',
    gatewayUrls: 'https://gateway.example',
    graphqlDatabaseUrl: 'postgres://a/b',
    outsideKey: 'https://signer.example',
    readAdminKey: 'k'.repeat(32),
    readLogKey: `PRIVATE+KEY+example.com/log+0a1b2c3d+${'A'.repeat(44)}`,
    readPin: '1234',
    readSealSecrets: `${'11'.repeat(32)}\n${'22'.repeat(32)}`,
    redisUrl: 'rediss://host:6379',
    ...{
      databaseUrl: complete.DATABASE_URL,
      readKey: complete.SIGNER_PRIVATE_KEY,
      rpcUrls: complete.RPC_URL_CELO,
    },
  }
  /** Returns a setting's value: for a sealed one the secret, for one per chain that of the first chain. */
  const valueOf = (environment: NodeJS.ProcessEnv, field: string): unknown => {
    const problems: string[] = []
    const value: unknown = parseSettings(environment, problems)[field as keyof Values]
    if (problems.length) throw new SettingsError(problems.join('; '))
    return typeof value === 'function' ? (value as () => unknown)() : value
  }

  test.each(secrets)('can be read from a file: %s', (field, { name, also }) => {
    const text = GIVEN[field]!
    for (const each of also === undefined ? [name] : [name, also]) {
      const setting = each.replace('<CHAIN>', 'CELO')
      const direct = valueOf({ [setting]: text }, field)
      expect(valueOf({ [`${setting}_FILE`]: file(`${text}\n`) }, field)).toEqual(direct)
      expect(() => valueOf({ [`${setting}_FILE`]: '/nowhere' }, field)).toThrow(sentence(`${setting}_FILE`))
      const empty = file(' \n')
      expect(() => valueOf({ [`${setting}_FILE`]: empty }, field)).toThrow(sentence(`${setting}_FILE`, empty))
      expect(() => valueOf({ [setting]: text, [`${setting}_FILE`]: file(text) }, field)).toThrow(
        sentence(`${setting} and ${setting}_FILE`),
      )
    }
  })
  test.each(secrets)('is not quoted if it is given as the path of a file: %s', (field, { name }) => {
    const setting = `${name.replace('<CHAIN>', 'CELO')}_FILE`
    for (const text of [GIVEN[field]!, ` ${GIVEN[field]}`]) {
      let message = ''
      try {
        valueOf({ [setting]: text }, field)
      } catch (error) {
        message = (error as Error).message
      }
      expect(message).not.toContain(text.trim())
      expect(message.startsWith(`${setting}: `)).toBe(true)
    }
  })
  test('in an unreadable file is reported, and not as a missing setting', () => {
    const read = () => readSettings({ DATABASE_URL_FILE: '/nowhere' }, ['database'])
    expect(read).toThrow(sentence('DATABASE_URL_FILE'))
    expect(read).not.toThrow(sentence('DATABASE_URL'))
  })
  test('in DB_URL, which a process sets for Subsquid, is read after the other names', () => {
    const of = (environment: NodeJS.ProcessEnv) =>
      readSettings({ DB_URL: 'postgres://db', ...environment }, [])
    expect(of({}).databaseUrl).toBe('postgres://db')
    expect(of({ DATABASE_URL: 'postgres://x' }).databaseUrl).toBe('postgres://x')
    expect(of({ DATABASE_URL_FILE: file('postgres://y') }).databaseUrl).toBe('postgres://y')
  })
  test('in an invalid file is reported without its content', () => {
    const [content, path] = ['too short', file('too short')]
    for (const [field, name] of [
      ['readAdminKey', 'ADMIN_KEY_FILE'],
      ['redisUrl', 'REDIS_URL_FILE'],
    ] as const) {
      const problem = () => valueOf({ [name]: path }, field)
      expect(problem).toThrow(sentence(`${name}`, path))
      expect(problem).toThrow(expect.not.objectContaining({ message: expect.stringContaining(content) }))
    }
  })
})

describe('a removed setting', () => {
  test.each(Object.entries(REMOVED))('named %s is reported with its replacement', (name, { refused }) => {
    const read = () => readSettings({ ...complete, [name]: '1' }, [])
    if (refused) expect(read).toThrow(sentence(name))
    else expect(removedSettings({ [name]: '1', PORT: '80' })).toEqual([sentence('', name)])
    if (!refused) read()
    expect(removedSettings({ [name]: '' })).toEqual([])
  })
  test('is not in the table of settings', () => {
    expect(Object.values<Setting>(ROWS).filter(({ name }) => name in REMOVED)).toEqual([])
  })
})

test.each<[string, object | undefined]>([
  ['pkcs11:token=geo;object=signer?module-path=/p11.so', { token: 'geo', key: 'signer' }],
  ['pkcs11:object=a%3bb;token=my%20hsm;type=private?module-path=/p11.so', { token: 'my hsm', key: 'a;b' }],
  ['pkcs11:token=geo;id=%0A%ff?module-path=/p11.so', { token: 'geo', key: 'id:0aff' }],
  ['pkcs11:token=geo;object=signer', undefined],
  ['pkcs11:object=signer?module-path=/p11.so', undefined],
  ['pkcs11:token=geo?module-path=/p11.so', undefined],
  ['pkcs11:token=geo;object=a;id=%01?module-path=/p11.so', undefined],
  ['pkcs11:token=geo;token=b;object=a?module-path=/p11.so', undefined],
  ['pkcs11:token=geo;object=%zz?module-path=/p11.so', undefined],
  ['pkcs11:token=geo;object=a;pin-value=1?module-path=/p11.so', undefined],
  ['ftp://signer.example', undefined],
])('the configuration parses SIGNER_URL %s', (text, expected) => {
  const changes = { SIGNER_PRIVATE_KEY: '', SIGNER_URL: text, SEAL_SECRET_FILE: '/seal' }
  const read = () => signerOf({ ...changes, SIGNER_PKCS11_PIN: '1' }).signer
  if (expected) expect(read()).toMatchObject({ kind: 'pkcs11', module: '/p11.so', ...expected })
  else expect(read).toThrow(sentence('SIGNER_URL'))
})
test.each([
  ['4350', { host: '127.0.0.1', port: 4350 }],
  ['0.0.0.0:80', { host: '0.0.0.0', port: 80 }],
  ['[::1]:80', { host: '::1', port: 80 }],
  ['squid.internal:80', { host: 'squid.internal', port: 80 }],
  ['0', undefined],
  ['::1:80', undefined],
  ['host:', undefined],
  ['70000', undefined],
])('the configuration parses GQL_PORT %s', (text, expected) => {
  const read = () => readSettings({ GQL_PORT: text }, []).squidGraphql
  if (expected) expect(read()).toEqual(expected)
  else expect(read).toThrow(sentence('GQL_PORT'))
})
test.each([
  ['Hooks.Internal:80, hooks.internal:0443', ['hooks.internal:80', 'hooks.internal:443']],
  ['127.1, [0:0:0:0:0:0:0:1]:8080, [::1]', ['127.0.0.1', '[::1]:8080', '[::1]']],
  ['bücher.internal', ['xn--bcher-kva.internal']],
])('the configuration writes the hosts %s as a URL does', (text, expected) => {
  expect(readSettings({ WEBHOOK_PRIVATE_HOSTS: text, ADMIN_KEY: 'k'.repeat(32) }, []).webhooks).toMatchObject(
    {
      privateHosts: expected,
    },
  )
})
test('the configuration adds texts and UIDs of location schemas, and excludes -UID and -*', () => {
  const [uid, other] = [`0x${'1'.repeat(64)}`, `0x${'2'.repeat(64)}`]
  const text = 'string srs,string location_type,string location,string name'
  const { locationSchemas, schemaPolicy } = readSettings(
    { LOCATION_SCHEMAS: `${text}; ${uid};-${other};-*` },
    [],
  )
  expect(locationSchemas.map(({ fields }) => fields)).toEqual([text])
  expect(schemaPolicy).toEqual({ found: 'listed', listed: new Set([uid]), excluded: new Set([other]) })
  expect(readSettings({}, []).schemaPolicy.found).toBe('all')
  for (const entry of ['-0x12', `-${LOCATION_SCHEMA.uid}`])
    expect(() => readSettings({ LOCATION_SCHEMAS: entry }, [])).toThrow(sentence('LOCATION_SCHEMAS'))
})
test('the configuration derives values from other settings', () => {
  const of = (environment: NodeJS.ProcessEnv) => readSettings({ ...complete, ...environment }, [])
  expect(of({ ATTESTER_ADDRESS: `0x${'aB'.repeat(20)},0x${'12'.repeat(20)}` })).toMatchObject({
    attesterAddress: `0x${'ab'.repeat(20)}`,
    otherAttesters: [`0x${'12'.repeat(20)}`],
  })
  expect([of({}).localNodes, of({ DEPLOYMENT_NAME: 'local' }).localNodes]).toEqual([false, true])
  expect(of({ CACHE_MB: '3' })).toMatchObject({ tileCacheBytes: 2 * 1_048_576, pageCacheBytes: 1_048_576 })
  expect([of({}), of({ DEADLINE_SECONDS: '60' }), of({ DEADLINE_SECONDS: '7200' })]).toMatchObject(
    [3600, 3600, 7200].map((resignMaxAgeSeconds) => ({ resignMaxAgeSeconds, maxLagSeconds: 120 })),
  )
  // Longer ones would cause alarms of `geo log monitor`, which forgets an entry after 8 days.
  expect(() => of({ DEADLINE_SECONDS: '604801' })).toThrow(sentence('DEADLINE_SECONDS'))
  const polls = ['http://127.0.0.1:8545', 'http://127.0.0.1:8545,https://celo.example'].map(
    (url) => of({ RPC_URL_CELO: url }).chains[0]!.headPollMs,
  )
  expect(polls).toEqual([300, 2000])
  expect(of({ API_PROCESSES: '1' }).exportDiskBytes).toBeGreaterThan(0)
})

/** Both documents are generated from the table by `npx vitest run src/config.test.ts -u`. */
describe('the documentation of the settings', () => {
  const PAGE = 'docs/reference/settings.md'
  const shownDefault = ({ default: value, shown }: Setting) => {
    const isNone = value === undefined || (Array.isArray(value) && value.length === 0)
    return shown ?? (isNone ? undefined : `${value as string | number | boolean}`)
  }
  const table = (head: string, rows: string[][]) =>
    [
      `| ${head} |`,
      `|${'---|'.repeat(rows[0]!.length)}`,
      ...rows.map((row) => `| ${row.join(' | ')} |`),
    ].join('\n')

  test('lists every setting in docs/reference/settings.md', async () => {
    let page = readFileSync(PAGE, 'utf8')
    const write = (heading: string, text: string) => {
      const section = new RegExp(`(?<=^## ${heading}\\n\\n)(?:\\|.*\\n)*`, 'm')
      expect([heading, section.test(page)]).toEqual([heading, true])
      page = page.replace(section, () => `${text}\n`)
    }
    for (const [group, rows] of Object.entries<Record<string, Setting>>(SETTINGS))
      write(
        group,
        table(
          'setting | type | default | description',
          Object.values(rows).map((row) => {
            const [shown, unit] = [shownDefault(row), row.unit ? ` ${row.unit}` : '']
            const text =
              shown === undefined
                ? 'none'
                : shown.includes(' ') || shown.includes('`')
                  ? shown
                  : `\`${shown}\``
            return [`\`${row.name}\``, row.type.name, text + unit, row.doc]
          }),
        ),
      )
    write(
      'Removed settings',
      table(
        'setting | now',
        Object.entries(REMOVED).map(([name, { now }]) => [`\`${name}\``, now]),
      ),
    )
    await expect(page).toMatchFileSnapshot(`../${PAGE}`)
  })
  test('lists every setting in .env.example', async () => {
    /** Formats a text as comment lines, without Markdown. */
    const comment = (text: string) =>
      text
        .replace(/\[([^\]]*)\]\(([^)]+)\)/g, (_, words: string, link: string) => {
          const [page, anchor] = link.split('#') as [string, string | undefined]
          const path = page ? posix.join('docs/reference', page) : PAGE
          return `${words} (${path}${anchor === undefined ? '' : `#${anchor}`})`
        })
        .replaceAll('`', '')
        .match(/.{1,116}(?= |$)/g)!
        .map((line) => `# ${line.trim()}`)
    const lines = [
      ...comment(
        `Every setting ([reference](settings.md), which this file is written from). Copy it to .env, fill in what you need and remove the # before it. With nothing set, npm start runs on an embedded database and local chains. <NAME>_FILE, for a secret, names a file that holds it.`,
      ),
      ...Object.entries<Record<string, Setting>>(SETTINGS).flatMap(([group, rows]) => [
        '',
        `# --- ${group} ---`,
        ...Object.values(rows).flatMap((row) => {
          const shown = shownDefault(row) ?? 'none'
          const secret = row.secret ? ' Secret.' : ''
          return [
            ...comment(`${row.doc}. Default: ${shown}${row.unit ? ` ${row.unit}` : ''}.${secret}`),
            ...(row.name.includes('<CHAIN>')
              ? CHAINS.map((chain) => `#${row.name.replace('<CHAIN>', settingSuffix(chain))}=`)
              : [`#${row.name}=`]),
          ]
        }),
      ]),
    ]
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('../.env.example')
  })
  test('leaves the address of the image in a copy of .env.example', () => {
    const [, variables] = /^ENV (.*HOST=.*)$/m.exec(readFileSync('Dockerfile', 'utf8'))!
    const image = parseEnv(variables!.replaceAll(' ', '\n'))
    const { host } = readSettings({ ...image, ...parseEnv(readFileSync('.env.example', 'utf8')) }, [])
    expect(host).toBe('0.0.0.0')
  })
  test('has at most 45 settings', () => {
    expect(Object.keys(ROWS).length).toBeLessThanOrEqual(45)
    const names = Object.values<Setting>(ROWS).map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
  })
})

describe('a settings file that is not JSON', () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  test.each<[string, string]>([
    ['truncated JSON', `[{"secret":"${secret}`],
    ['an extra comma', `[\n  {"secret":"${secret}",}]`],
    ['missing quotes', `[{"secret":${secret}}]`],
    ['an empty file', ''],
    ['a repeated key', `[{"secret":"${secret}","secret":"${secret}"}]`],
  ])('with %s is reported without its content', (_, text) => {
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
  test('is reported with the position if the parser states the position', () => {
    expect(() => parseSettingsFile('[\n  {"id": "a",}\n]')).toThrow(sentence())
  })
})

testSentences()
