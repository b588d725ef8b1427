import { ZeroAddress, ZeroHash } from 'ethers/constants'
import { expect, test } from 'vitest'
import { CHAINS } from '../../src/chains'
import { attestDigest, domainSeparator, encodeBooleanResult, keySigner, sealOf } from '../../src/eas'
import { VerifyingContract, type ChainReader } from '../contracts'
import { OWN_WORK } from '../http/work'
import { Attester } from './attester'
import type { ComputeParts } from './compute'
import { verify } from './earlier'

const KEY = `0x${'1'.repeat(64)}`
const PROXY = `0x${'7'.repeat(40)}`
const UID = `0x${'a'.repeat(64)}`
const NOW = Math.floor(Date.now() / 1000)
const DEADLINE = NOW - 60
/** Accounts whose attestations were searched. */
const searched: string[] = []
const chain = CHAINS.find(({ slug }) => slug === 'base-sepolia')!

/** Verifies an answer whose deadline has passed, at a head of this age, in which it has not landed. */
async function verified(
  submission: 'direct' | 'proxy',
  headAge: number,
  isLocal: boolean,
  others: string[] = [],
) {
  const signer = await keySigner(KEY)
  const time = NOW - headAge
  const reader = {
    ...{ logs: { span: Infinity }, isLocal: async () => isLocal, of: () => reader },
    block: async (which: number | 'latest') => ({
      number: which === 'latest' ? chain.firstBlock + 1_000 : which,
      time,
    }),
    attested: async (filter: { attester: string }) => {
      searched.push(filter.attester)
      return []
    },
    // The proxy compares the deadline with the time of its head.
    revertOf: async () => (time > DEADLINE ? '0x1ab7da6b' : undefined),
    proxyOwner: async () => signer.address,
    nonce: async () => 5n,
  } as unknown as ChainReader
  const keys = { signer, others, seals: [sealOf(`0x${'2'.repeat(64)}`)] }
  const attester = new Attester(
    keys as never,
    { chain, proxy: PROXY, rpcUrls: [] } as never,
    reader,
    undefined,
  )
  const layout = submission === 'proxy' ? 'proxy' : 'v2'
  const address = submission === 'proxy' ? PROXY : chain.eas
  const domain = { name: 'EAS', version: '1.2.0', chainId: chain.id, verifyingContract: address }
  const separator = domainSeparator(domain)
  const facts = { domain, separator, layout } as never
  Object.assign(attester, {
    direct: new VerifyingContract('direct', chain.eas, async () => facts),
    [submission]: new VerifyingContract(submission, address, async () => facts),
  })
  const terms = { deadline: DEADLINE, ...(submission === 'direct' ? { nonce: 5 } : {}) }
  const expirationTime = submission === 'proxy' ? 2 ** 40 : 0
  const context = { timestamp: NOW - 660, operation: 'contains', inputRefs: [UID, UID] }
  const content = {
    ...{ schema: UID, recipient: ZeroAddress, revocable: true, refUID: ZeroHash, expirationTime },
    data: encodeBooleanResult(true, context),
  }
  const signed = { ...content, attester: signer.address, value: 0, nonce: 0, ...terms }
  const signature = await signer.sign(await attestDigest(separator, layout, signed))
  const parts = { attesters: new Map([[chain.id, { attester, reader }]]), clock: () => NOW * 1000 }
  const answer = {
    ...{ chainId: chain.id, attestation: { ...content, attester: signer.address, signature } },
    delegatedAttestation: { ...terms, signature, attester: signer.address, submission },
  }
  return verify({ ...parts, resignMaxAgeSeconds: 3600 } as unknown as ComputeParts, answer, OWN_WORK)
}

test.each([
  ['direct', 'a head before the deadline', 900, false, 'unknown'],
  ['proxy', 'a head before the deadline', 900, false, 'unknown'],
  ['direct', 'a head after the deadline', 5, false, 'not landed'],
  ['proxy', 'a head after the deadline', 5, false, 'not landed'],
  // Local chains make blocks on demand.
  ['direct', 'a head before the deadline on a local chain', 900, true, 'not landed'],
  ['proxy', 'a head before the deadline on a local chain', 900, true, 'not landed'],
] as const)('an expired %s answer at %s', async (submission, _, headAge, isLocal, status) => {
  const { ours, reasons, landed } = await verified(submission, headAge, isLocal)
  expect([ours, landed?.status]).toEqual([true, status])
  expect(reasons).toHaveLength(1)
  // An answer that may have landed must not be signed again.
  expect(reasons[0]!.includes('resign')).toBe(status === 'not landed')
})

test('an answer is also searched by the other keys of the service, which may have re-signed it', async () => {
  const other = `0x${'c'.repeat(40)}`
  searched.length = 0
  await verified('direct', 5, false, [other])
  expect(searched.map((each) => each.toLowerCase()).at(-1)).toBe(other)
  expect(searched).toHaveLength(2)
})

test('an answer is not searched by a test account on a public chain, because anyone can sign as it', async () => {
  searched.length = 0
  await verified('direct', 5, false, ['0x70997970c51812dc3a010c7d01b50e0d17dc79c8'])
  expect(searched).toHaveLength(1)
})
