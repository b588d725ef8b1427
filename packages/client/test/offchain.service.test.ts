// SPDX-License-Identifier: MIT
import { createRequire } from 'node:module'
import { deflateSync } from 'node:zlib'
import {
  InvalidInputError,
  SignerError,
  VerificationFailedError,
  createGeo,
  type Geo,
  type Input,
  type OffchainFile,
  type OffchainSource,
  type Signer,
} from '@geospatial-attestation/client'
import { ContractFactory, Wallet, type TypedDataDomain, type TypedDataField } from 'ethers'
import { privateKeyToAccount } from 'viem/accounts'
import { beforeAll, describe, expect, test } from 'vitest'
import { locationRequest, mined, testAccount, type LocalChain } from '../../../dev/chain'
import { CHAINS } from '../../../src/chains'
import { testedSlugs, testedWith } from '../../../test/chains'
import { EFFORT } from '../../../test/seed'
import { compile } from '../../../test/solidity'
import vectors from '../../../test/vectors/offchain-vectors.json'
import { startTestWorld, type TestWorld } from '../../../test/world'
import { SIGNER_KINDS, injected, signerOf } from './signers'
import { sentence, testSentences } from '../../../test/sentences'
import { GATE, TOWER } from '../../../test/positions'

/** Tests offchain attestations of the built package and of eas-sdk as inputs of the running service. */
const SLUGS = [...new Set([...testedSlugs(EFFORT), 'base-sepolia'])]
let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld({ CHAINS: SLUGS.join() })
})

// Loads the CommonJS build, because the ESM build refers to source maps that do not exist.
const sdk = createRequire(__filename)(
  '@ethereum-attestation-service/eas-sdk',
) as typeof import('@ethereum-attestation-service/eas-sdk')
const local = (slug: string): LocalChain => world.chains.get(slug)!
const geoOf = (slug: string): Geo => createGeo({ url: world.url, chain: slug })
const METRES = 881329.94
/** Copies a value by converting it to JSON and back. */
const copy = <T>(value: T) => JSON.parse(JSON.stringify(value)) as T
const sdkOffchain = async (slug: string, version: 0 | 1 | 2) => {
  const { id } = local(slug).chain
  const { eas, domain } = await geoOf(slug).chain()
  return new sdk.Offchain(
    { address: eas, version: domain!.version, chainId: BigInt(id) },
    version,
    undefined!,
  )
}
/** Converts sources of one attestation to inputs, and returns those with different content. */
async function distinctInputs(
  geo: Geo,
  sources: readonly OffchainSource[],
  signer: string,
): Promise<Input[]> {
  const inputs = new Map<string, Input>()
  for (const source of sources) {
    const input = await geo.offchain(source)
    const file = input.attestation as OffchainFile
    expect(file.signer.toLowerCase()).toBe(signer.toLowerCase())
    inputs.set(JSON.stringify(file.sig), input)
  }
  return [...inputs.values()]
}
/** Converts a file to eas-sdk's form, in which integers are bigints. */
const ofSdk = ({ sig, signer }: OffchainFile) => {
  const { message, domain } = sig
  const big = { time: BigInt(message.time), expirationTime: BigInt(message.expirationTime) }
  const of = {
    ...sig,
    domain: { ...domain, chainId: BigInt(domain.chainId) },
    message: { ...message, ...big },
  }
  return {
    sig: of as unknown as import('@ethereum-attestation-service/eas-sdk').SignedOffchainAttestation,
    signer,
  }
}

// Without the chain in the name, the test has the same sentences at each effort.
test.each(testedWith(EFFORT, SIGNER_KINDS).map(([slug, kind]) => ({ slug, kind })))(
  'the client with $kind attests offchain, as eas-sdk and the service verify',
  async ({ slug, kind }) => {
    const geo = geoOf(slug)
    const { signer, account } = signerOf(kind, local(slug))
    const { address } = testAccount(account)
    const before = await local(slug).provider.getTransactionCount(address)
    const details = { location: GATE, memo: '🏛️ שער', recipient: testAccount(7).address, expiration: 4e9 }
    const place = await geo.attest(details, signer, { offchain: true, refUID: `0x${'12'.repeat(32)}` })
    expect(place).toMatchObject({ chainId: local(slug).chain.id, attestation: { signer: address } })
    const { attestation } = place
    expect(copy(attestation)).toEqual(attestation)
    expect(attestation.sig.message).toMatchObject({
      ...{ recipient: testAccount(7).address, expirationTime: '4000000000', revocable: true },
      refUID: `0x${'12'.repeat(32)}`,
    })

    const offchain = await sdkOffchain(slug, 2)
    const file = ofSdk(attestation)
    expect(offchain.verifyOffchainAttestationSignature(address, file.sig)).toBe(true)
    expect(offchain.verifyOffchainAttestationSignature(address, attestation.sig as never)).toBe(true)
    expect(place.uid).toBe(file.sig.uid)
    // The attestation, encoded as the explorer's link and decoded.
    const shared = sdk.decodeBase64ZippedBase64(sdk.zipAndEncodeToBase64(file))
    expect(offchain.verifyOffchainAttestationSignature(address, shared.sig as never)).toBe(true)

    const inputs: Input[] = [place, { attestation }, await geo.offchain(attestation)]
    for (const input of inputs) {
      const answer = await geo.distance(input, TOWER)
      expect(answer).toMatchObject({ result: METRES, inputRefs: [place.uid, expect.any(String)] })
    }
    const { results } = await geo.batch([{ operation: 'distance', from: place, to: TOWER }])
    expect(results).toMatchObject([{ result: METRES }])
    expect(await local(slug).provider.getTransactionCount(address)).toBe(before)

    const other = injected(local(slug), testAccount(6).address)
    await expect(geo.revokeOffchain(place, other)).rejects.toThrow(sentence())
    const { sig } = attestation
    const renamed = { ...attestation, sig: { ...sig, uid: `0x${'34'.repeat(32)}` } }
    await expect(geo.revokeOffchain(renamed, signer)).rejects.toBeInstanceOf(InvalidInputError)
    const revoked = await geo.revokeOffchain(place, signer)
    expect(revoked).toMatchObject({ uid: place.uid, already: false })
    await expect(geo.distance(place, TOWER)).rejects.toBeInstanceOf(VerificationFailedError)
    expect(await geo.revokeOffchain(place.uid, signer)).toEqual({
      ...{ uid: place.uid, chainId: local(slug).chain.id, already: true },
      revocationTime: revoked.revocationTime,
    })
  },
)

test.each(testedWith(EFFORT, [0, 1, 2] as const))(
  'the client on %s accepts objects of eas-sdk of version %i as inputs, in every form',
  async (slug, version) => {
    const geo = geoOf(slug)
    const offchain = await sdkOffchain(slug, version)
    const wallet = new Wallet(testAccount(4).privateKey)
    const account = privateKeyToAccount(testAccount(4).privateKey as `0x${string}`)
    /** A viem account in the form of eas-sdk's signers. */
    const viem = {
      getAddress: async () => account.address as string,
      signTypedData: async (
        domain: TypedDataDomain,
        types: Record<string, TypedDataField[]>,
        message: Record<string, unknown>,
      ) => account.signTypedData({ domain, types, primaryType: Object.keys(types)[0], message } as never),
    }
    for (const signer of [wallet, viem]) {
      const { schema, data } = locationRequest(GATE)
      const made = await offchain.signOffchainAttestation(
        {
          ...{ schema, recipient: data.recipient, time: BigInt(Math.floor(Date.now() / 1000)) },
          ...{ expirationTime: 0n, revocable: true, refUID: data.refUID, data: data.data },
        },
        signer,
      )
      const file = { sig: made, signer: wallet.address }
      const strings = JSON.stringify(file, (_, value: unknown) =>
        typeof value === 'bigint' ? value.toString() : value,
      )
      const link = `https://base.easscan.org${sdk.createOffchainURL(file)}`
      const sources: OffchainSource[] = [made, file, strings, JSON.parse(strings) as object as never, link]
      for (const input of await distinctInputs(geo, sources, wallet.address)) {
        const { result, inputRefs } = await geo.distance(input, TOWER)
        expect([result, inputRefs[0]]).toEqual([METRES, made.uid])
      }
    }
  },
)

describe('the client, for attestations of eas-sdk and altered attestations,', () => {
  type Vector = (typeof vectors.vectors)[number] & { raw?: string; document?: any; revoked?: unknown }
  const slugOf = (chainId: number) => CHAINS.find(({ id }) => id === chainId)?.slug ?? ''
  const usable = (vectors.vectors as Vector[]).filter(
    ({ document, chainId }) => document !== undefined && SLUGS.includes(slugOf(chainId)),
  )
  const good = usable.filter(
    ({ expected, document }) => expected.ok && Number(document.sig?.message?.expirationTime) === 0,
  )

  test.each(good.map((vector) => [vector.id, vector] as const))(
    'accepts %s as an input',
    async (_id, vector) => {
      const geo = geoOf(slugOf(vector.chainId))
      const { sig, signer } = vector.document as { sig: never; signer: string }
      const sources = [vector.document as never, sig, JSON.stringify(vector.document)]
      for (const input of await distinctInputs(geo, sources, signer))
        expect((await geo.distance(input, GATE)).inputRefs[0]).toBe(vector.expected.uid)
    },
  )

  // Invalid vectors whose content is valid in this test: the revocations are not on its chains, the future
  // time has passed, a missing signer is recovered, and no specific UID was requested.
  const goodHere = ['public-bad-signer-missing', 'public-bad-requested-uid-differs']
  const bad = usable.filter(
    ({ id, expected }) =>
      !expected.ok && !['revoked', 'time'].includes(expected.reason!) && !goodHere.includes(id),
  )
  // api/compute/offchain.test.ts rejects all of them.
  const some = bad.filter((_, i) => EFFORT >= 1 || i % 4 === 0)
  const rejected = some.map((vector) => [vector.id, vector] as const)
  test.each(rejected)('rejects %s', async (_id, vector) => {
    const geo = geoOf(slugOf(vector.chainId))
    const refused = await geo
      .offchain(vector.document as never)
      .then((input) => geo.distance(input, GATE))
      .then(
        () => undefined,
        (error: unknown) => (error as Error).name,
      )
    expect([InvalidInputError.name, VerificationFailedError.name]).toContain(refused)
  })

  test('rejects values that are not offchain attestations', async () => {
    const geo = geoOf('base')
    const links = ['eJw', deflateSync(Buffer.alloc(10_000_000, ' ')).toString('base64')].map(
      (packed) => `https://easscan.org/offchain/url/#attestation=${encodeURIComponent(packed)}`,
    )
    const wrong = ['', '{', '[]', 'null', '7', '{"sig":{}}', ...links]
    for (const source of wrong)
      await expect(geo.offchain(source)).rejects.toMatchObject({
        ...{ name: 'InvalidInputError' },
        message: sentence() as string,
      })
    const { attestation } = await geo.attest(GATE, signerOf('ethers', local('base')).signer, {
      offchain: true,
    })
    const { sig } = attestation
    await expect(geo.offchain({ ...sig, signature: '0x1234' } as never)).rejects.toThrow(sentence())
    await expect(geo.offchain({ ...sig, signature: { r: '0x', s: '0x', v: 5 } })).rejects.toThrow(sentence())
  })
})

test('the client signs offchain with a key alone, with a different UID for each place', async () => {
  const geo = geoOf('sepolia')
  const { privateKey, address } = testAccount(8)
  for (const signer of [new Wallet(privateKey), privateKeyToAccount(privateKey as `0x${string}`)]) {
    const places = await geo.attest([GATE, { location: TOWER, memo: 'x' }, GATE], signer, { offchain: true })
    expect(new Set(places.map(({ uid }) => uid)).size).toBe(3)
    expect(places.map(({ attestation }) => attestation.signer)).toEqual([address, address, address])
    expect((await geo.distance(places[0]!, places[1]!)).result).toBe(METRES)
    expect((await geo.intersects(places[0]!, places[2]!)).result).toBe(true)
  }
})

test('the client keeps the signature of a smart account, which the contract verifies', async () => {
  const chain = local('base')
  const { abi, bytecode } = compile('test/accounts.sol').Account!
  const owner = new Wallet(testAccount(6).privateKey)
  const contract = await new ContractFactory(abi, bytecode, await chain.provider.getSigner(6)).deploy(
    owner.address,
  )
  await mined(chain, contract.deploymentTransaction()!.hash)
  const account = await contract.getAddress()
  const signer = {
    ...{ provider: null, getAddress: async () => account },
    signMessage: async (text: string) => owner.signMessage(text),
    signTypedData: async (...typed: Parameters<Wallet['signTypedData']>) => owner.signTypedData(...typed),
    sendTransaction: async () => Promise.reject(new Error('not asked')),
  } as Signer
  const geo = geoOf('base')
  const place = await geo.attest(GATE, signer, { offchain: true })
  expect(place.attestation).toMatchObject({
    signer: account,
    sig: { signature: expect.stringMatching(/^0x\w{130}$/) as string },
  })
  expect((await geo.distance(place, TOWER)).result).toBe(METRES)
})

describe('the client does not sign', () => {
  test('if a place is invalid, or the wallet refuses', async () => {
    const geo = geoOf('base')
    const methods: string[] = []
    const signer = injected(local('base'), testAccount(3).address, async (method) => {
      methods.push(method)
      if (method === 'eth_signTypedData_v4') throw new Error('User rejected the request.')
      return undefined
    })
    const crossed = { location: 'POLYGON((0 0,1 1,1 0,0 1,0 0))', locationType: 'wkt' }
    for (const place of [crossed, { location: 'x', locationType: 'h3' }, { ...TOWER, coordinates: [0, 91] }])
      await expect(geo.attest(place, signer, { offchain: true })).rejects.toBeInstanceOf(InvalidInputError)
    expect(methods).not.toContain('eth_signTypedData_v4')
    const error = await geo
      .attest(GATE, signer, { offchain: true })
      .catch((reason: unknown) => reason as Error)
    expect(error).toBeInstanceOf(SignerError)
    expect((error as Error).message).toEqual(sentence())
  })
})

testSentences()
