// SPDX-License-Identifier: MIT
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { testAccount } from '../../../dev/chain'
import { serve } from '../../../test/http-server'
import { startTestWorld, type TestWorld } from '../../../test/world'
import { openShell, type Shell } from './geo'

/** Tests errors of `geo` and its exit codes. No transaction is sent in these cases. */
let world: TestWorld
let shell: Shell
beforeAll(async () => {
  world = await startTestWorld({ CHAINS: 'base-sepolia,celo' })
  shell = openShell(world)
  shell.write('two.ndjson', '{"answer": {}}\n{"answer": {}}\n')
  shell.write('empty.json', { chainId: 84532, results: [] })
  shell.write('hidden.json', { chainId: 84532, result: true, attestation: {}, results: [] })
  shell.write('double.json', { result: true, answer: { chainId: 84532, attestation: {} } })
  shell.write('explorer.json', JSON.stringify({ id: `0x${'ab'.repeat(32)}`, attester: PAYER, data: '0x' }))
})

const ASK = ['distance', '2.2945,48.8584', '13.3777,52.5163', '--chain', 'base-sepolia']
const LAND = [...ASK, '--land', '--key-file', 'key.txt']
const PAYER = testAccount(4).address

/**
 * Runs geo, and fails unless it exits with this code, an empty stdout and one message on stderr. Returns the
 * message.
 */
async function refused(args: string[], code: number, env: NodeJS.ProcessEnv = {}): Promise<string> {
  const before = await world.chain.provider.getTransactionCount(PAYER)
  const ended = await shell.geo(args, { env })
  expect(ended, args.join(' ')).toMatchObject({ code, stdout: '' })
  expect(ended.stderr).toMatch(/^geo: [^]*\n$/)
  expect(await world.chain.provider.getTransactionCount(PAYER)).toBe(before)
  return ended.stderr.slice('geo: '.length).trimEnd()
}

describe('geo, for invalid usage,', () => {
  test.each([
    [
      ['distance', '1,2'],
      "missing required argument 'b'\nUsage: geo distance [options] <a> <b>\ngeo help distance has examples.",
    ],
    [
      ['distanc', '1,2', '3,4'],
      "unknown command 'distanc'\n(Did you mean distance?)\ngeo --help lists the commands.",
    ],
    [['distance', '1,2', '3,4', '--jsn'], "unknown option '--jsn'\n(Did you mean --json?)"],
    [[...ASK, '--submission', 'post'], /Allowed choices are direct, proxy/],
    [['distance', '2,91', '3,4'], /'2,91' is not a position: .*got 91;/],
    [['distance', '190,48', '3,4'], /'190,48' is not a position: .* subtract 360, which gives -170/],
    [['distance', '1,2,3,4', '3,4'], /'1,2,3,4' is not a position: expected lng,lat in degrees, such as/],
    [['distance', '1;2', '3,4'], /File not found: '1;2'. Expected a position as lng,lat, a UID/],
    [['distance', '.', '3,4'], /Could not read the file '.' \(EISDIR\)/],
    [['distance', 'key.txt', '3,4'], /'key.txt' does not contain a place: expected GeoJSON/],
    [['distance', 'explorer.json', '3,4'], /in an explorer's format\. Use its UID, 0x(ab){32}\.$/],
    [['distance', '0x1234', '3,4'], "'0x1234' is not a UID: expected 0x and 64 hex digits."],
    [['recompute', '0x12'], "'0x12' is not a UID: expected 0x and 64 hex digits, or the file of an answer."],
    [
      ['revoke', '0x12'],
      "'0x12' is not a UID: expected 0x and 64 hex digits, or the file of an offchain attestation.",
    ],
    [['verify', '0x12'], "'0x12' is not a UID: expected 0x and 64 hex digits, or the file of an answer."],
    [['distance', '-', '-'], /Standard input (does not contain a place|can be read only once)/],
    [['help', 'nosuch'], "unknown command 'nosuch'\ngeo --help lists the commands."],
    [['help', 'chain'], "unknown command 'chain'\n(Did you mean chains?)\ngeo --help lists the commands."],
    [
      ['within', '1,2', '3,4', 'far'],
      "command-argument value 'far' is invalid for argument 'radius'. Expected metres, such as 500.",
    ],
    [
      ['distance', '1,2', '3,4', '--chain', 'mars'],
      /The service has no chain mars. It has base-sepolia \(84532\), celo/,
    ],
    [
      ['area', 'path.geojson', '--chain', 'celo'],
      /area requires a Polygon or MultiPolygon, got a LineString/,
    ],
    [['records', '--chain', 'mars'], /Supported chains: base-sepolia/],
    [['records', '-o', 'x'], /A table cannot be written to a file\./],
    [['records', '--bom', '--format', 'ndjson'], /--bom needs --format csv/],
    [['records', '--bom'], /--bom needs --format csv/],
    [['records', '--intersects', 'nowhere'], /'nowhere' is not GeoJSON, WKT such as/],
    [
      ['records', '--format', 'csv', '-o', 'no/such/folder.csv'],
      /^Could not use the file 'no\/such\/folder.csv' \(ENOENT, open\)/,
    ],
    [
      ['land', 'field.geojson', '--key-file', 'key.txt'],
      /'field.geojson' does not contain an answer: expected the output of geo distance A B --json/,
    ],
    [['verify', 'empty.json'], /^'empty.json' does not contain an answer/],
    [['verify', 'hidden.json'], /^'hidden.json' does not contain an answer/],
    [['verify', 'double.json'], /^'double.json' does not contain an answer/],
    [['verify', 'two.ndjson'], /^'two.ndjson' has several lines\. Use one of them: sed -n 1p prints/],
    [['verify', 'field.geojson', '--max-age', '5'], /^--max-age requires the UID of an attestation/],
    [['verify', 'field.geojson', '--schema', `0x${'ab'.repeat(32)}`], /^--schema requires the UID/],
    [['verify', 'nothing.json'], /File not found: 'nothing.json'/],
    [
      ['chains', '--url', 'example.org'],
      /'example.org' is not the URL of a service: expected one such as https/,
    ],
    [['batch', 'path.geojson', '--land', '--key-file', 'key.txt'], /--land requires -o FILE/],
  ] as [string[], string | RegExp][])('rejects %j', async (args, text) => {
    const said = await refused(args, 2)
    if (typeof text === 'string') expect(said).toBe(text)
    else expect(said).toMatch(text)
  })

  test('prints the error as JSON with --json, with its name and exit code', async () => {
    const { code, stdout, stderr } = await shell.geo(['distance', '0x12', '3,4', '--json'])
    expect([code, stdout]).toEqual([2, ''])
    expect(JSON.parse(stderr)).toEqual({
      error: {
        name: 'UsageError',
        message: "'0x12' is not a UID: expected 0x and 64 hex digits.",
        exitCode: 2,
      },
    })
    const unknown = await shell.geo(['--json', 'distance', '--nothing'])
    expect(JSON.parse(unknown.stderr)).toMatchObject({ error: { name: 'CommanderError', exitCode: 2 } })
  })

  test('prints the help if there is no command', async () => {
    const { code, stderr } = await shell.geo([])
    expect([code, stderr]).toEqual([2, expect.stringContaining('Exit codes:')])
  })
})

describe('geo, for an invalid key,', () => {
  test('rejects a key file that others can access, and names the command that fixes it', async () => {
    for (const mode of [0o644, 0o640, 0o606, 0o620]) {
      shell.write('open key.txt', `${testAccount(4).privateKey}\n`, mode)
      const said = await refused([...LAND, '--key-file', 'open key.txt'], 5)
      expect(said).toBe(
        `Other users can access 'open key.txt' (mode ${mode.toString(8)}). Run chmod 600 'open key.txt' and try again. Nothing was signed.`,
      )
    }
    shell.write('open key.txt', testAccount(4).privateKey.slice(2), 0o400)
    expect((await shell.geo([...LAND, '--key-file', 'open key.txt'])).code).toBe(0)
    shell.write('phrase', 'a phrase', 0o644)
    shell.write('keystore.json', { version: 3, crypto: { cipher: 'aes-128-ctr' } }, 0o600)
    const args = [...LAND, '--key-file', 'keystore.json', '--passphrase-file', 'phrase']
    expect(await refused(args, 5)).toContain('Run chmod 600 phrase')
  })

  test('rejects a key on the command line, and never prints it', async () => {
    // At the end, every output of this file is searched for keys.
    const key = testAccount(4).privateKey
    for (const given of [key, key.slice(2), 'test test test test test test test test test test test junk']) {
      const said = await refused([...LAND, '--key-file', given], 5)
      expect(said).toMatch(/expects the path of a file, but this looks like a key/)
      expect(said).not.toContain('junk')
    }
    expect(await refused([...ASK, `--private-key=${key}`], 2)).toContain("unknown option '--private-key=...'")
    expect(await refused([...ASK, '--key', key], 2)).toContain("unknown option '--key'")
    expect(await refused(['distance', key.slice(2), '1,2'], 2)).toMatch(/File not found: \(name not shown\)/)
    expect(await refused(['land', key, '--key-file', 'key.txt'], 2)).toMatch(
      /File not found: \(name not shown\)/,
    )
    expect(await refused(['records', '--format', 'csv', '-o', path.join('none', key)], 2)).toMatch(
      /^Could not use the file \(name not shown\)/,
    )
  })

  test.each([
    [[], /This command requires a key. Name its file with --key-file or GEO_KEY_FILE/],
    [['--key-file', 'none'], /File not found: 'none' \(--key-file\)/],
    [['--key-file', '.'], /^'.' \(--key-file\) is not a file. Name the file of the key/],
    [
      ['--key-file', 'other.json'],
      /'other.json' does not contain a key: expected 0x and 64 hex digits, or a keystore/,
    ],
    [['--key-file', 'zero.txt'], /'zero.txt' contains a number that is not a key of secp256k1/],
  ])('rejects %j', async (args, text) => {
    shell.write('other.json', `{"key":"${testAccount(4).privateKey}"`, 0o600)
    shell.write('zero.txt', `0x${'0'.repeat(64)}`, 0o600)
    expect(await refused([...ASK, '--land', ...args], 5)).toMatch(text)
  })

  test('reports an account that has no funds', async () => {
    shell.write('poor.txt', `0x${'5a'.repeat(32)}`, 0o600)
    // The question is unique, because an equal answer of this second may already have landed, and then
    // nothing would be sent.
    const args = [
      ...['distance', '4,4', '5,5', '--chain', 'base-sepolia', '--land', '--key-file', 'poor.txt', '-q'],
    ]
    expect(await shell.geo(args)).toMatchObject({
      ...{ code: 5, stdout: expect.stringMatching(/^\{.*\}\n$/) },
      stderr: expect.stringMatching(/^geo: The wallet did not send the transaction: /),
    })
  })
})

describe('geo, for a failure of the service or an RPC endpoint,', () => {
  const NOWHERE = 'http://127.0.0.1:9'

  test('reports that the service is unreachable', async () => {
    expect(await refused([...ASK, '--url', NOWHERE], 4)).toMatch(
      /does not respond .*Check that the service is running at http:\/\/127.0.0.1:9\.$/,
    )
  })

  test('reports an RPC endpoint that is unreachable, missing, or of another chain', async () => {
    const secret = `${NOWHERE}/v3/secret`
    const away = await refused([...LAND, '--rpc', secret], 4)
    expect(away).toMatch(/^The RPC endpoint of base-sepolia in --rpc does not respond \(.*\). Check its URL/)
    expect(away).not.toContain('secret')
    expect(await refused([...LAND, '--rpc', world.chains.get('celo')!.url], 5)).toBe(
      '--rpc is an RPC endpoint of chain 42220, but base-sepolia is chain 84532. Set it to an RPC endpoint of base-sepolia.',
    )
    expect(await refused([...LAND, '--rpc', 'wss://node'], 2)).toBe(
      '--rpc is not the URL of an RPC endpoint: expected one such as https://node.example.org',
    )
    const none = { GEO_RPC_URL_BASE_SEPOLIA: '' }
    expect(await refused(LAND, 2, none)).toBe(
      'This command reads base-sepolia directly. Set the URL of an RPC endpoint with --rpc, GEO_RPC_URL_BASE_SEPOLIA or GEO_RPC_URL.',
    )
    const general = await shell.geo([...LAND, '--json'], { env: { ...none, GEO_RPC_URL: world.chain.url } })
    expect(JSON.parse(general.stdout).landed.chainId).toBe(84532)
  })

  test("reports that the service's RPC endpoint or database is unavailable", { tags: ['slow'] }, async () => {
    const refusing = (status: number, headers: object) =>
      serve((request, response) =>
        response
          .writeHead(status, { 'content-type': 'application/json', ...headers })
          .end(JSON.stringify({ title: 'Computation Error', status, detail: 'The node is unreachable.' })),
      )
    // The wait is longer than the client accepts.
    const away = { 'retry-after': '1000' }
    expect(await refused([...ASK, '--url', await refusing(500, away)], 4)).toContain('unreachable')
    expect(await refused(['stats', '--url', await refusing(503, away)], 4)).toContain('unreachable')
    await refused(['stats', '--url', await refusing(502, {})], 4)
    await refused(['stats', '--url', await refusing(500, {})], 3)
    const tooExpensive = await serve((_request, response) =>
      response
        .writeHead(503, { 'content-type': 'application/json' })
        .end(JSON.stringify({ status: 'error', message: 'Query too expensive' })),
    )
    await refused(['stats', '--url', tooExpensive], 2)
  })

  test('names the server that did not respond within the timeout', async () => {
    const silent = await serve(() => {})
    const uid = `0x${'ab'.repeat(32)}`
    for (const args of [ASK, ['stats'], ['chains']])
      expect(await refused([...args, '--url', silent, '--timeout', '0.3'], 4)).toBe(
        `No response from the service at ${silent} within 0.3 s (--timeout).`,
      )
    const verify = ['verify', uid, '--chain', 'base-sepolia', '--rpc', silent, '--timeout', '0.5']
    expect(await refused(verify, 4)).toBe(
      'No response from the RPC endpoint of base-sepolia within 0.5 s (--timeout).',
    )
  })

  test('names the transaction that was sent before the timeout', async () => {
    const { provider } = world.chain
    await provider.send('evm_setAutomine', [false])
    try {
      // A busy machine may take long to send the transaction.
      // An answer like this one of the same second may have landed already, so the question is another one.
      const land = LAND.map((each) => (each === '13.3777,52.5163' ? '13.4,52.5' : each))
      const landUntil = (seconds: number) => shell.geo([...land, '-q', '--timeout', String(seconds)])
      let ended
      for (let seconds = 2; !ended?.stderr.includes('was sent'); seconds *= 3) {
        ended = await landUntil(seconds)
        expect(ended.code).toBe(ended.stderr.includes('was sent') ? 6 : 4)
      }
      expect(ended.stdout).toMatch(/^\{.*\}\n$/)
      expect(ended.stderr).toMatch(
        /^geo: \d+ s have elapsed \(--timeout\)\. The transaction 0x[0-9a-f]{64} was sent and may still be included/,
      )
    } finally {
      await provider.send('evm_setAutomine', [true])
      await provider.send('evm_mine', [])
    }
  })

  test('does not send an altered answer', async () => {
    const { stdout } = await shell.geo([...ASK, '--json'])
    const answer = JSON.parse(stdout)
    const other = testAccount(6).address
    const alterations: [object, RegExp][] = [
      [
        { result: 1 },
        /^The answer was altered: its result is 1, but the signed value is 881329.94. Nothing was sent/,
      ],
      [{ attestation: { ...answer.attestation, recipient: other } }, /its signature is not by/],
      [
        { attestByDelegation: { ...answer.attestByDelegation, attester: other } },
        /attester of attestByDelegation/,
      ],
      [{ chainId: 42220 }, /its signature is not by/],
    ]
    for (const [alteration, text] of alterations) {
      shell.write('altered.json', { ...answer, ...alteration })
      expect(await refused(['land', 'altered.json', '--key-file', 'key.txt'], 6)).toMatch(text)
    }
    // A pinned attester overrides the attester that the service names.
    shell.write('answer.json', answer)
    const pinned = await refused(['land', 'answer.json', '--key-file', 'key.txt', '--attester', other], 6)
    expect(pinned).toMatch(/its attester is 0xa0Ee7A142d267C1f36714E4a8F75612F20a79720, not 0x/)
  })

  test('does not send an answer that its contract rejects', async () => {
    const { stdout } = await shell.geo([...ASK, '--json'])
    shell.write('answer.json', stdout)
    const { provider, chain } = world.chain
    const code = await provider.getCode(chain.schemaRegistry)
    await provider.send('anvil_setCode', [chain.schemaRegistry, '0x00'])
    try {
      const said = await refused(['land', 'answer.json', '--key-file', 'key.txt'], 6)
      expect(said).toMatch(/^The answer did not land: the contract reverted with .*Nothing was sent\.$/)
    } finally {
      await provider.send('anvil_setCode', [chain.schemaRegistry, code])
    }
  })

  test('reports a service of another version, and a server that is not the service', async () => {
    const older = await serve((request, response) => {
      response.setHeader('content-type', 'application/json')
      response.end(
        JSON.stringify({ name: 'Geospatial Attestation Service', version: '0.0.3', chains: ['base'] }),
      )
    })
    for (const args of [ASK, ['chains'], ['watch']]) {
      const said = await refused([...args, '--url', older], 3)
      expect(said).toMatch(/version/)
    }
    // A version of the service whose answers cannot land yet.
    const without =
      /"(attestByDelegation|submission|contract)":(\{[^{}]*\{[^{}]*\}[^{}]*\{[^{}]*\}[^{}]*\}|"[^"]*"),?/g
    const before = await serve((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      const answered = async () => {
        const { method, url } = request
        const body = chunks.length ? { body: Buffer.concat(chunks) } : {}
        const headers = { 'content-type': 'application/json', accept: 'application/json' }
        const answer = await fetch(world.url + url!, { method, headers, ...body })
        const text = await answer.text()
        response.writeHead(answer.status, { 'content-type': 'application/json' })
        response.end(url === '/' ? text : text.replace(without, '').replace(/,\}/g, '}'))
      }
      request.on('end', () => void answered())
    })
    const asked = await shell.geo([...ASK, '--url', before])
    expect(asked).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('submission  unknown: geo cannot land this answer'),
    })
    expect(await shell.geo([...LAND, '--url', before])).toMatchObject({
      ...{ code: 3, stdout: '' },
      stderr: expect.stringMatching(
        /^Wrote the signed answer to answer-[-\da-f]{36}\.json, for geo land\.\ngeo: The answer has no attestByDelegation: it is from an older version of the service, and this package cannot land it\.\n$/,
      ),
    })
    const other = await serve((request, response) => response.writeHead(404).end('<html>nginx</html>'))
    expect(await refused([...ASK, '--url', other], 3)).toContain('is not a Geospatial Attestation Service')
  })

  test('reports a missing attestation or record, and an exhausted rate limit', async () => {
    const unknown = `0x${'ab'.repeat(32)}`
    expect(await refused(['record', unknown], 3)).toContain('Location record not found')
    expect(await refused(['distance', unknown, '1,2', '--chain', 'celo'], 3)).toContain(
      'there is no attestation',
    )
    expect(await refused(['verify', unknown, '--chain', 'celo'], 3)).toContain('there is no attestation')
    const limited = await serve((request, response) =>
      response.writeHead(429, { 'retry-after': '1800', 'content-type': 'application/json' }).end(
        JSON.stringify({
          title: 'Rate limit exceeded',
          status: 429,
          detail: 'Limit: 100 an hour. Try again in 1800 s.',
        }),
      ),
    )
    expect(await refused([...ASK, '--url', limited], 7)).toBe(
      'Rate limit exceeded: Limit: 100 an hour. Try again in 1800 s.',
    )
  })
})
