import { readFileSync } from 'node:fs'
import { Signature } from 'ethers'
import { describe, expect, test } from 'vitest'
import { OffchainError, verifyOffchain, type OffchainAttestation, type OffchainExpectation } from '.'
import { hunt } from '../../test/seed'
import { sentence, testSentences } from '../../test/sentences'

type Json = any
interface Vector {
  id: string
  chainId: number
  requestedUid: string
  document?: Json
  expected: { ok: boolean; reason: string; problem: string; uid: string; signer: string; schema: string }
}
/** Vectors from eas-sdk 2.10.0, as the file states. */
const { now, chains, vectors } = JSON.parse(readFileSync('test/vectors/offchain-vectors.json', 'utf8')) as {
  now: number
  chains: Record<string, { eas: string }>
  vectors: Vector[]
}
const documents = vectors.filter(({ document }) => document !== undefined)
const expectationOf = ({ chainId, requestedUid: uid }: Vector): OffchainExpectation => ({
  ...{ chainId, contract: chains[chainId]!.eas.toLowerCase(), uid, now: BigInt(now) },
})

/**
 * Reasons of the vectors. test/sentences has each vector's message, so that no vector is rejected by another
 * check.
 */
const REASONS = [
  ...['malformed', 'version', 'types', 'domain', 'wrong-chain', 'wrong-contract', 'uid-mismatch'],
  ...['signature', 'signer-mismatch', 'expired', 'time'],
]
/** Reasons that depend on the chain or on the service's tables, which this room does not read. */
const BEYOND = ['revoked', 'schema', 'data']

describe('the vectors of verifyOffchain', () => {
  test('cover every reason of a rejection', () =>
    expect(
      new Set(documents.filter(({ expected }) => !expected.ok).map(({ expected }) => expected.reason)),
    ).toEqual(new Set([...REASONS, ...BEYOND])))
  test.each(documents)('agree on $id', async (vector) => {
    const { document, expected, requestedUid } = vector
    const verifying = verifyOffchain(document, expectationOf(vector))
    if (expected.ok)
      expect(await verifying).toMatchObject({
        ...{ uid: expected.uid, signer: expected.signer.toLowerCase(), schema: expected.schema },
      })
    else if (BEYOND.includes(expected.reason)) expect(await verifying).toMatchObject({ uid: requestedUid })
    else {
      const error: unknown = await verifying.catch((caught: unknown) => caught)
      expect(error).toBeInstanceOf(OffchainError)
      expect((error as OffchainError).slug).toBe(expected.problem)
      expect(error).toEqual(sentence())
    }
  })
})

const base = documents.find(({ id }) => id === 'public-valid-base')!
const clone = (value: Json): Json => structuredClone(value)
/** Verifies the base vector after a change. */
const verify = (change: (document: Json) => void, expected: Partial<OffchainExpectation> = {}) => {
  const document = clone(base.document)
  change(document)
  return verifyOffchain(document, { ...expectationOf(base), ...expected })
}

describe('verifyOffchain', () => {
  test('returns a signature by another signer as a claim, if accounts may sign', async () => {
    const { signature } = base.document.sig
    const bytes = `${signature.r}${signature.s.slice(2)}1c`
    const claimOf = async (change: (document: Json) => void) =>
      (await verify(change, { accounts: true })).claim
    expect(await claimOf(() => {})).toBeUndefined()
    expect(await claimOf(({ sig }) => (sig.signature = bytes))).toBeUndefined()
    const [signer, digest] = [`0x${'12'.repeat(20)}`, expect.stringMatching(/^0x[0-9a-f]{64}$/)]
    for (const given of [signature, bytes, bytes.toUpperCase().replace('X', 'x')])
      expect(
        await verify(
          (document) => Object.assign(document, { signer, sig: { ...document.sig, signature: given } }),
          {
            accounts: true,
          },
        ),
      ).toMatchObject({
        signer,
        claim: {
          digest,
          signature: bytes,
          problem: sentence('', base.expected.signer.toLowerCase()),
        },
      })
    // Other values of v, from other wallets' schemes (31: signed by eth_sign), are verified by the account's
    // contract. 256 is not a byte.
    expect(await claimOf(({ sig }) => (sig.signature.v = 31))).toMatchObject({
      signature: `${bytes.slice(0, -2)}1f`,
    })
    await expect(claimOf(({ sig }) => (sig.signature.v = 256))).rejects.toThrow(sentence())
    for (const wrong of ['', '0x', '0x1', '0xzz', `0x${'00'.repeat(4_097)}`, [], null])
      await expect(claimOf(({ sig }) => (sig.signature = wrong))).rejects.toMatchObject({
        slug: 'invalid-input',
        message: sentence('sig.signature'),
      })
    // All checks that do not need the account run before it is queried.
    await expect(
      verify((document) => (document.signer = signer), { accounts: true, now: 0n }),
    ).rejects.toThrow(sentence())
  })
  test.each([false, true])(
    'accepts a signature by a key in the forms of EIP-2098, whole or in parts; accounts: %s',
    async (accounts) => {
      const { r, s, v } = base.document.sig.signature
      const { serialized, compactSerialized, yParityAndS } = Signature.from({ r, s, v })
      const flipped = Signature.from({ r, s, v: v === 27 ? 28 : 27 })
      const signed = (signature: unknown) => verify(({ sig }) => (sig.signature = signature), { accounts })
      for (const signature of [serialized, compactSerialized, { r, yParityAndS }, { r, vs: yParityAndS }])
        expect(await signed(signature)).toEqual(await verify(() => {}))
      for (const signature of [flipped.compactSerialized, { r, yParityAndS: flipped.yParityAndS }])
        if (accounts)
          // The account receives the signature unchanged, because its contract may support the short form.
          expect(await signed(signature)).toMatchObject({ claim: { signature: flipped.compactSerialized } })
        else await expect(signed(signature)).rejects.toMatchObject({ slug: 'verification-failed' })
      for (const signature of [`${serialized}00`, '0x', { r, yParityAndS: '0x1' }, { yParityAndS }])
        if (!accounts || typeof signature === 'object')
          await expect(signed(signature)).rejects.toMatchObject({
            slug: 'invalid-input',
            message: sentence(),
          })
    },
  )
  test('accepts the own object of the library with an added signer', async () => {
    const { sig, signer } = base.document
    expect(await verifyOffchain({ ...sig, signer }, expectationOf(base))).toMatchObject({
      uid: base.expected.uid,
    })
    await expect(verifyOffchain(sig, expectationOf(base))).rejects.toThrow(sentence('signer'))
    await expect(verifyOffchain({}, expectationOf(base))).rejects.toThrow(sentence('sig'))
  })
  test('tolerates clocks that differ by a minute, and checks expiry to the second', async () => {
    const expiring = documents.find(({ id }) => id === 'public-valid-not-yet-expired')!
    const at = (vector: Vector, clock: bigint) =>
      verifyOffchain(vector.document, { ...expectationOf(vector), now: clock })
    const { time, expirationTime } = expiring.document.sig.message
    await expect(at(expiring, BigInt(expirationTime) - 1n)).resolves.toMatchObject({
      expirationTime: BigInt(expirationTime),
    })
    await expect(at(expiring, BigInt(expirationTime))).rejects.toThrow(sentence())
    await expect(at(expiring, BigInt(time) - 60n)).resolves.toBeDefined()
    await expect(at(expiring, BigInt(time) - 61n)).rejects.toThrow(sentence())
  })
  test('returns the same attestation and UID for hex in any letter case', async () => {
    const upper = (text: string) => `0x${text.slice(2).toUpperCase()}`
    const attestation = await verify(({ sig, signer }, { message } = sig) => {
      for (const name of ['schema', 'recipient', 'refUID', 'data', 'salt'])
        message[name] = upper(message[name])
      sig.uid = upper(sig.uid)
      sig.signature.r = upper(sig.signature.r)
      expect(signer).not.toBe(upper(signer))
    })
    expect(attestation).toMatchObject({ uid: base.expected.uid, schema: base.expected.schema })
  })
  test('accepts integers as numbers or decimal texts of up to 64 bits', async () => {
    for (const time of [1_760_000_000, '1760000000'])
      await expect(verify(({ sig }) => (sig.message.time = time))).resolves.toBeDefined()
    for (const time of [
      -1,
      1.5,
      2 ** 53,
      1e300,
      '-1',
      '0x68e77800',
      '01760000000',
      '1e9',
      '',
      ' 1760000000',
      '18446744073709551616',
      '9'.repeat(21),
      null,
      true,
      [1_760_000_000],
      {},
    ])
      await expect(verify(({ sig }) => (sig.message.time = time))).rejects.toMatchObject({
        slug: 'invalid-input',
        message: sentence('sig.message.time'),
      })
    // 2^64 - 1 is a valid time, but not the one in this UID.
    await expect(verify(({ sig }) => (sig.message.expirationTime = '18446744073709551615'))).rejects.toThrow(
      sentence(),
    )
  })
  test('rejects data of more than 256 KiB', async () => {
    await expect(verify(({ sig }) => (sig.message.data = `0x${'00'.repeat(262_145)}`))).rejects.toMatchObject(
      { slug: 'invalid-input', message: sentence('sig.message.data') },
    )
    await expect(verify(({ sig }) => (sig.message.data = `0x${'00'.repeat(262_144)}`))).rejects.toThrow(
      sentence(),
    )
  })
  test('rejects types in another order, with additional fields or under another name', async () => {
    const changes: ((types: Json) => void)[] = [
      (types) => types.Attest.reverse(),
      (types) => types.Attest.push({ name: 'nonce', type: 'uint64' }),
      (types) => (types.Other = types.Attest),
      (types) => (types.Attest[3].type = 'uint256'),
      (types) => (types.Attest = {}),
      (types) => (types.Attest = Array(9).fill(null)),
      (types) => delete types.Attest,
    ]
    for (const change of changes)
      await expect(verify(({ sig }) => change(sig.types))).rejects.toMatchObject({
        slug: 'verification-failed',
        message: sentence(),
      })
  })
  test('rejects a document that omits its version', async () => {
    await expect(verify(({ sig }) => delete sig.message.version)).rejects.toThrow(
      sentence('sig.message.version'),
    )
    await expect(verify(({ sig }) => (delete sig.message.version, delete sig.version))).rejects.toThrow(
      sentence(),
    )
    await expect(verify(({ sig }) => delete sig.version)).resolves.toMatchObject({ uid: base.expected.uid })
  })
  test('rejects numbers of a signature above the order of the curve', async () => {
    const order = `0x${'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141'}`
    for (const [name, value] of [
      ['r', `0x${'0'.repeat(64)}`],
      ['r', order],
      ['r', `0x${'f'.repeat(64)}`],
      ['s', `0x${'0'.repeat(64)}`],
      ['s', order],
      ['v', 2],
      ['v', 35],
    ] as const)
      await expect(verify(({ sig }) => (sig.signature[name] = value))).rejects.toMatchObject({
        slug: 'verification-failed',
        message: sentence(),
      })
  })
})

hunt(
  'verifyOffchain rejects a mutated document with an OffchainError, or verifies it as before',
  600,
  async ({ random, cases }) => {
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
    let deep: Json = {}
    for (let i = 0; i < 20_000; i++) deep = i % 2 ? [deep] : { sig: deep }
    const huge = 'f'.repeat(300_000)
    const values: Json[] = [
      ...[null, true, false, 0, 1, 2, 27, -1, 1.5, 1e300, '', '0x', '0', 'Attest', huge, `0x${huge}`],
      ...[[], {}, [[]], deep, { toString: 1 }, '\0', '\ud800', `0x${'0'.repeat(64)}`, `0x${'0'.repeat(40)}`],
    ]
    const valid = documents.filter(({ expected }) => expected.ok)
    const originals = new Map<string, OffchainAttestation>()
    for (const vector of valid)
      originals.set(vector.id, await verifyOffchain(vector.document, expectationOf(vector)))

    /** Changes a value at a random position in the document. */
    const mutate = (document: Json): Json => {
      if (random() < 0.02) return pick(values)
      let holder = document
      for (;;) {
        const key = pick(Object.keys(holder))
        const inner = holder[key]
        if (typeof inner === 'object' && inner !== null && Object.keys(inner).length > 0 && random() < 0.8) {
          holder = inner
          continue
        }
        const kind = random()
        if (kind < 0.2) delete holder[key]
        else if (kind < 0.45) holder[key] = pick(values)
        else if (kind < 0.55)
          holder[pick(['sig', 'signer', 'message', 'version', 'salt', 'uid', 'constructor', 'x'])] = inner
        else if (kind < 0.65) holder[key] = holder[pick(Object.keys(holder))]
        else if (typeof inner === 'string' && inner.length > 0) {
          const at = Math.floor(random() * inner.length)
          holder[key] = pick([
            inner.toUpperCase(),
            inner.toLowerCase(),
            inner.slice(0, at),
            inner + inner,
            `${inner} `,
            inner.slice(0, at) + pick([...'0123456789abcdefg xX']) + inner.slice(at + 1),
          ])
        } else if (typeof inner === 'number')
          holder[key] = pick([inner + 1, -inner, String(inner), [inner], inner + 0.5])
        return document
      }
    }
    let [refused, claimed] = [0, 0]
    for (let i = 0; i < cases; i++) {
      const vector = pick(valid)
      let document = clone(vector.document)
      for (
        let n = 1 + Math.floor(random() * 3);
        n > 0 && typeof document === 'object' && document !== null && Object.keys(document).length > 0;
        n--
      )
        document = mutate(document)
      const ofAccount = await verifyOffchain(document, { ...expectationOf(vector), accounts: true }).catch(
        (error: unknown) => {
          expect(error).toBeInstanceOf(OffchainError)
          return undefined
        },
      )
      if (ofAccount?.claim) claimed++
      else if (ofAccount) expect(ofAccount).toEqual(originals.get(vector.id))
      try {
        expect(await verifyOffchain(document, expectationOf(vector))).toEqual(originals.get(vector.id))
        expect(ofAccount?.claim).toBeUndefined()
      } catch (error) {
        if (!(error instanceof OffchainError)) throw error
        expect(['invalid-input', 'verification-failed']).toContain(error.slug)
        expect(error.message.length).toBeLessThan(400)
        refused++
      }
    }
    expect(refused).toBeGreaterThan(cases / 2)
    expect(refused).toBeLessThan(cases)
    expect(claimed).toBeGreaterThan(cases / 120)
  },
)

testSentences()
