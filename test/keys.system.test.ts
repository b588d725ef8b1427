import { execFile } from 'node:child_process'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { Contract, Interface, Wallet, getAddress, hexlify, parseEther, randomBytes } from 'ethers'
import { AlteredAnswerError, createGeo } from '@geospatial-attestation/client'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { loadIdentity, type Identity } from '../api/compute/signers'
import { pkcs11Signer } from '../api/compute/signers/pkcs11'
import { LOCAL_CHAIN, mined, testAccount, type LocalChain } from '../dev/chain'
import { startTestChain } from './chains'
import { freePort } from '../dev/services'
import { blankSettings } from '../dev/settings'
import { SettingsError, readSettings, type SignerSettings } from '../src/config'
import { recoverSigner } from '../src/eas'
import { startApi } from './api'
import { temporaryFolder } from './database'
import { startRpcProxy } from './rpc-proxy'
import { MISSING_FOR_TOKENS, makeToken, type SoftToken } from './softhsm'
import { startTestWorld } from './world'
import { sentence, testSentences } from './sentences'
import { GATE, TOWER } from './positions'

/**
 * Tests signers whose key is outside the service: a token (SoftHSM), and a service (simulated by a local
 * node).
 */

type Json = any
const QUESTION = { chainId: LOCAL_CHAIN.id, from: GATE, to: TOWER }
/** Path of the compiled worker. `npm test` builds before it runs. */
const WORKER = path.resolve('dist/api/compute/signers/pkcs11-worker.js')
const ATTESTED = new Interface([
  'event Attested(address indexed recipient, address indexed attester, bytes32 uid, bytes32 indexed schemaUID)',
])

/**
 * Sends an answer's transaction from a new account, and returns the attester that EAS then records. Throws if
 * it reverts.
 */
async function land(chain: LocalChain, { transaction }: Json): Promise<string> {
  const from = hexlify(randomBytes(20))
  await chain.provider.send('anvil_setBalance', [from, `0x${parseEther('1').toString(16)}`])
  await chain.provider.send('anvil_impersonateAccount', [from])
  const { to, data } = transaction
  const { logs } = await mined(chain, await chain.provider.send('eth_sendTransaction', [{ from, to, data }]))
  const log = logs.find(
    ({ address, topics }) =>
      address.toLowerCase() === chain.chain.eas && topics[0] === ATTESTED.getEvent('Attested')!.topicHash,
  )
  return (await (await chain.eas()).getFunction('getAttestation').staticCall(log!.data)).attester
}

const needs = MISSING_FOR_TOKENS.length ? ` (needs ${MISSING_FOR_TOKENS.join(', ')})` : ''
let folder: string
let secret: string
beforeAll(() => {
  folder = temporaryFolder()
  secret = path.join(folder, 'seal')
  writeFileSync(secret, `${hexlify(randomBytes(32))}\n`)
})

/** Checks that the answers of a service with this signer land, in EAS and through the proxy. */
async function answersLand(environment: NodeJS.ProcessEnv, attester: string): Promise<void> {
  const world = await startTestWorld({ ...environment, ATTESTER_ADDRESS: attester, SEAL_SECRET_FILE: secret })
  try {
    expect((await world.get('/')).body.chains).toMatchObject([{ attester, ready: true }])
    expect((await world.get('/ready')).body.signer).toEqual({ status: 'ready' })
    const landedBy: Record<string, string> = { direct: attester, proxy: world.chain.proxy }
    for (const [submission, by] of Object.entries(landedBy)) {
      const asked = await world.post('/compute/v0/distance', {
        ...{ ...QUESTION, submission, include: ['transaction'] },
      })
      expect(asked).toMatchObject({ status: 200, body: { attestation: { attester } } })
      expect(await land(world.chain, asked.body)).toBe(by)
    }
    const batch = await world.post('/compute/v0/batch', {
      chainId: LOCAL_CHAIN.id,
      operations: Array.from({ length: 20 }, () => ({ operation: 'distance', from: GATE, to: TOWER })),
    })
    expect([batch.status, batch.body.results.length]).toEqual([200, 20])
    const [{ attestation, delegatedAttestation }] = batch.body.results
    const again = { chainId: LOCAL_CHAIN.id, attestation, delegatedAttestation, include: ['transaction'] }
    const resigned = await world.post('/compute/v0/resign', again)
    expect(await land(world.chain, resigned.body)).toBe(attester)
  } finally {
    await world.stop()
  }
}

test('answers land if a remote service signs their typed data', async () => {
  const LOCAL_CHAIN_PORT = String(await freePort())
  await answersLand(
    { LOCAL_CHAIN_PORT, SIGNER_URL: `http://127.0.0.1:${LOCAL_CHAIN_PORT}` },
    testAccount(8).address,
  )
})

test('a token is rejected with a clear message if pkcs11js is missing', async () => {
  // The worker runs in a folder without node_modules.
  const worker = path.join(folder, 'worker.cjs')
  copyFileSync(WORKER, worker)
  const settings = {
    kind: 'pkcs11',
    module: '/p11.so',
    token: 'geo',
    key: 'signer',
    readPin: () => '1',
  } as const
  const opened = pkcs11Signer(settings, { timeoutMs: 600_000 }, worker)
  await expect(opened).rejects.toThrow(SettingsError)
  await expect(opened).rejects.toThrow(sentence('SIGNER_URL'))
})

describe.skipIf(MISSING_FOR_TOKENS.length > 0)(`the signer with a PKCS#11 token${needs}`, () => {
  let token: SoftToken
  const closing: (() => Promise<void>)[] = []
  beforeAll(() => {
    token = makeToken(folder, 'geo')
    token.makeKey('signer', '0a01')
    token.makeKey('twice', '0a02')
    token.makeKey('twice', '0a03')
    // prime256v1
    token.makeKey('another curve', '0a04', '06082a8648ce3d030107')
  })
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })
  const signerOf = async (changes: NodeJS.ProcessEnv = {}) => {
    const environment = { ...token.environment(), SEAL_SECRET_FILE: secret }
    const { signer } = readSettings({ ...environment, ...changes }, ['signer'])
    const opened = await pkcs11Signer(
      signer as Extract<SignerSettings, { kind: 'pkcs11' }>,
      { timeoutMs: 600_000 },
      WORKER,
    )
    closing.push(() => opened.close())
    return opened
  }

  test('never reads the private key, and makes canonical signatures by its address', async () => {
    expect(token.extract('signer')).toBe('CKR_ATTRIBUTE_SENSITIVE')
    const [byLabel, byId] = [await signerOf(), await signerOf(token.environment('id=%0a%01'))]
    expect([byLabel.address, byLabel.notReady()]).toEqual([byId.address, undefined])
    const digests = Array.from({ length: 100 }, () => hexlify(randomBytes(32)))
    const signatures = await Promise.all(
      digests.map((digest, i) =>
        byLabel.sign(digest, () => Promise.reject(new Error('not needed')) as never, `client ${i % 2}`),
      ),
    )
    for (const [i, signature] of signatures.entries())
      expect(await recoverSigner(digests[i]!, signature)).toBe(byLabel.address)
  })
  test('refuses signatures beyond its queue', async () => {
    const signer = await signerOf()
    const answers = await Promise.allSettled(
      Array.from({ length: 400 }, (_, i) =>
        signer.sign(hexlify(randomBytes(32)), () => undefined as never, `client ${i % 8}`),
      ),
    )
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(4 + 256)
    expect((answers.at(-1) as PromiseRejectedResult).reason).toEqual(sentence())
    expect(signer.notReady()).toBeUndefined()
  })
  test.each<[string, () => NodeJS.ProcessEnv, unknown]>([
    [
      'library',
      () => token.environment(undefined, { module: '/nowhere.so' }),
      sentence('SIGNER_URL: module-path'),
    ],
    ['token', () => token.environment(undefined, { token: 'other' }), sentence('SIGNER_URL: token')],
    ['label', () => token.environment('object=none'), sentence('SIGNER_URL')],
    ['id', () => token.environment('id=%ff'), sentence('SIGNER_URL')],
    ['label of two keys', () => token.environment('object=twice'), sentence('SIGNER_URL')],
    ['curve', () => token.environment('object=another%20curve'), sentence('SIGNER_URL')],
  ])('rejects another %s at the start', async (_, changes, problem) => {
    const refused = signerOf(changes())
    await expect(refused).rejects.toThrow(SettingsError)
    await expect(refused).rejects.toThrow(problem)
  })
  test('rejects an incorrect PIN, and tries none again until a login by hand', async () => {
    for (const [settings, named] of [
      [{ SIGNER_PKCS11_PIN_FILE: 'package.json' }, 'CKR_PIN_INCORRECT'],
      [{}, 'keys.md'],
    ] as const) {
      const opened = signerOf(settings)
      await expect(opened).rejects.toThrow(SettingsError)
      await expect(opened).rejects.toThrow(sentence('SIGNER_PKCS11_PIN_FILE', named))
    }
    token.logIn()
    expect((await signerOf()).notReady()).toBeUndefined()
  })
  test('can deploy a proxy', async () => {
    const chain = await startTestChain({ port: await freePort() })
    closing.push(() => chain.stop())
    const { address } = await signerOf()
    await chain.provider.send('anvil_setBalance', [address, `0x${parseEther('1').toString(16)}`])
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['dist/api/deploy-proxy.js', '--chain', LOCAL_CHAIN.slug, '--yes'],
      {
        env: {
          ...{ ...process.env, ...blankSettings(), ...token.environment(), RPC_URL_BASE_SEPOLIA: chain.url },
          SEAL_SECRET_FILE: secret,
        },
      },
    )
    const [, proxy] = /^PROXY_BASE_SEPOLIA=(0x\w{40})$/m.exec(stdout)!
    const owner = new Contract(proxy!, ['function owner() view returns (address)'], chain.provider)
    expect(await owner.getFunction('owner').staticCall()).toBe(getAddress(address))
  })
  test('signs answers that land', async () => {
    const { address } = await signerOf()
    await answersLand(token.environment(), getAddress(address))
  })
})

describe('the signer on a local chain', () => {
  let chain: LocalChain
  const closing: (() => Promise<void>)[] = []
  beforeAll(async () => {
    chain = await startTestChain({ port: await freePort() })
  })
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })
  afterAll(() => chain?.stop())

  /** Starts an API instance with these settings of its identity. */
  async function copy(environment: NodeJS.ProcessEnv): Promise<{ url: string; identity: Identity }> {
    const identity = await loadIdentity(readSettings(environment, ['signer']))
    const { url, close } = await startApi({ rpcUrl: chain.url, identity })
    closing.push(close)
    return { url, identity }
  }
  async function post({ url }: { url: string }, path: string, body: object) {
    const response = await fetch(`${url}/compute/v0/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return {
      status: response.status,
      retry: response.headers.get('retry-after'),
      body: (await response.json()) as Json,
    }
  }
  const ask = async (from: { url: string }): Promise<Json> =>
    (await post(from, 'distance', { ...QUESTION, include: ['transaction'] })).body
  const earlier = ({ attestation, delegatedAttestation }: Json, more = {}) => ({
    ...{ chainId: LOCAL_CHAIN.id, attestation, delegatedAttestation, ...more },
  })

  test('signs nothing while the signer is unreachable, and responds with the time of a retry', async () => {
    const signer = await startRpcProxy(chain.url)
    closing.push(() => signer.close())
    const api = await copy({
      ...{ SIGNER_URL: signer.url, ATTESTER_ADDRESS: testAccount(8).address, SEAL_SECRET_FILE: secret },
    })
    const ready = async () => ((await (await fetch(`${api.url}/ready`)).json()) as Json).signer
    const figure = async () =>
      /^geospatial_signature_failures_total\{chain="base-sepolia"\} (\d+)$/m.exec(
        await (await fetch(`${api.url}/metrics`)).text(),
      )?.[1]
    expect([await land(chain, await ask(api)), await figure()]).toEqual([testAccount(8).address, '0'])
    signer.misbehave(() => ({ drop: true }))
    expect(await post(api, 'distance', QUESTION)).toEqual({
      ...{ status: 500, retry: '5' },
      body: {
        ...{ type: 'https://x.example/errors/computation-error', title: expect.any(String), status: 500 },
        detail: sentence(),
        instance: '/compute/v0/distance',
      },
    })
    expect([await ready(), await figure()]).toEqual([{ status: 'not ready', reason: sentence() }, '1'])
    signer.misbehave((call) =>
      call.method === 'eth_signTypedData_v4'
        ? { ask: (node) => node(call.method, [testAccount(7).address, call.params[1]]) }
        : undefined,
    )
    expect((await post(api, 'distance', QUESTION)).body.detail).toEqual(sentence())
    signer.misbehave()
    expect(await land(chain, await ask(api))).toBe(testAccount(8).address)
    expect(await ready()).toEqual({ status: 'ready' })
  })

  /**
   * Follows docs/operations/keys.md, Changing the key: instances of each step run together with those of the
   * previous step.
   */
  test('lands, verifies and re-signs all answers while the key changes', async () => {
    const [old, next] = [Wallet.createRandom(), Wallet.createRandom()]
    const key = ({ privateKey }: { privateKey: string }, name: string) => {
      const file = path.join(folder, name)
      writeFileSync(file, privateKey)
      return { SIGNER_KEY_FILE: file }
    }
    const [oldKey, nextKey] = [key(old, 'old'), key(next, 'next')]
    const before = await copy({ ...oldKey, SEAL_SECRET_FILE: secret })
    const prepared = await copy({
      ...oldKey,
      SEAL_SECRET_FILE: secret,
      ATTESTER_ADDRESS: `${old.address},${next.address}`,
    })
    const changed = await copy({
      ...nextKey,
      SEAL_SECRET_FILE: secret,
      ATTESTER_ADDRESS: `${next.address},${old.address}`,
    })
    const after = await copy({ ...nextKey, SEAL_SECRET_FILE: secret })

    for (const [pair, signers] of [
      [
        [before, prepared],
        [old, old],
      ],
      [
        [prepared, changed],
        [old, next],
      ],
    ] as const)
      for (const [i, from] of pair.entries()) {
        const answer = await ask(from)
        expect(answer.attestation.attester).toBe(signers[i]!.address)
        for (const [j, to] of pair.entries()) {
          expect((await post(to, 'verify', earlier(answer))).body).toMatchObject({
            ...{ ours: true, submittable: true, nonce: { signed: 0, current: 0 } },
            says: { result: answer.result },
          })
          const again = await post(to, 'resign', earlier(answer, { include: ['transaction'] }))
          expect([again.status, again.body.attestation.attester]).toEqual([200, signers[j]!.address])
        }
      }
    // Each answer lands at the nonce of its own attester, and is found there.
    for (const [from, by] of [
      [prepared, old],
      [changed, next],
    ] as const) {
      const answer = await ask(from)
      expect(await land(chain, answer)).toBe(by.address)
      for (const to of [prepared, changed])
        expect((await post(to, 'verify', earlier(answer))).body).toMatchObject({
          ...{ ours: true, submittable: false, nonce: { signed: 0, current: 1 } },
          landed: { status: 'landed', revoked: false },
        })
    }
    // The typed client reads both attesters from GET /, and lands and accepts answers of either.
    const geo = createGeo({
      url: changed.url,
      chain: LOCAL_CHAIN.slug,
      providers: { [LOCAL_CHAIN.id]: chain.url },
    })
    expect(await geo.chain()).toMatchObject({ attester: next.address, otherAttesters: [old.address] })
    for (const from of [prepared, changed]) {
      const { uid } = await geo.land(
        { chainId: LOCAL_CHAIN.id, ...(await ask(from)) },
        await chain.provider.getSigner(3),
      )
      expect(await geo.check(uid)).toMatchObject({ valid: true, problems: [] })
    }
    // A token from the previous secret is still accepted after the change to the new one.
    const answer = await ask(changed)
    const secrets = path.join(folder, 'secrets')
    writeFileSync(secrets, `${hexlify(randomBytes(32))}\n${readFileSync(secret, 'utf8')}`)
    const resealed = await copy({ ...nextKey, SEAL_SECRET_FILE: secrets })
    expect((await post(resealed, 'resign', earlier(answer))).status).toBe(200)
    const sealedAnew = await ask(resealed)
    expect((await post(changed, 'resign', earlier(sealedAnew))).status).toBe(401)
    // Without the setting, answers of the old key do not count as the service's own, as is required after a
    // theft of the key.
    const stale = await ask(prepared)
    expect((await post(after, 'verify', earlier(stale))).body).toMatchObject({ ours: false })
    expect((await post(after, 'resign', earlier(stale))).status).toBe(401)
    const unaware = createGeo({ url: after.url, chain: LOCAL_CHAIN.slug })
    await expect(
      unaware.land({ chainId: LOCAL_CHAIN.id, ...stale }, await chain.provider.getSigner(3)),
    ).rejects.toThrow(AlteredAnswerError)
    // Answers that another account signed in the name of one of the attesters do not count either.
    const forged = structuredClone(stale)
    forged.attestation.attester = forged.delegatedAttestation.attester = next.address
    expect((await post(changed, 'verify', earlier(forged))).body).toMatchObject({ ours: false })
  })
})

testSentences()
