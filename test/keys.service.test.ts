import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { Wallet, hexlify, randomBytes } from 'ethers'
import { AlteredAnswerError, createGeo } from '@geospatial-attestation/client'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { loadIdentity, type Identity } from '../api/compute/signers'
import { pkcs11Signer } from '../api/compute/signers/pkcs11'
import { LOCAL_CHAIN, testAccount, type LocalChain } from '../dev/chain'
import { freePort } from '../dev/services'
import { SettingsError, readSettings } from '../src/config'
import { postJson, startApi } from './api'
import { startTestChain } from './chains'
import { temporaryFolder } from './database'
import { QUESTION, WORKER, answersLand, land, writeSecret } from './keys'
import { startRpcProxy } from './rpc-proxy'
import { sentence, testSentences } from './sentences'

/**
 * Tests signers whose key is in another service (simulated by a local node), and the change of a key.
 * test/keys.system.test.ts tests tokens.
 */

type Json = any
let folder: string
let secret: string
beforeAll(() => {
  folder = temporaryFolder()
  secret = writeSecret(folder)
})

test('answers land if a remote service signs their typed data', async () => {
  const LOCAL_CHAIN_PORT = String(await freePort())
  await answersLand(
    {
      LOCAL_CHAIN_PORT,
      SIGNER_URL: `http://127.0.0.1:${LOCAL_CHAIN_PORT}`,
      SEAL_SECRET_FILE: secret,
    },
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
    const response = await postJson(`${url}/compute/v0/${path}`, body)
    const retry = response.headers.get('retry-after')
    return { status: response.status, retry, body: (await response.json()) as Json }
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
