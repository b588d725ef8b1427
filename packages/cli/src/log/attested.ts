// SPDX-License-Identifier: MIT
import type { Chain } from '@geospatial-attestation/client'
import type { HttpTransport, PublicClient } from 'viem'

/** Attestations by the service's attester on a chain, to compare them with the log. */

/** Maximum number of blocks of one request: providers refuse more. */
const BLOCKS = 2_000
const EVENT = [
  'event Attested(address indexed recipient, address indexed attester, bytes32 uid, bytes32 indexed schema)',
]
const CALLS = [
  'function getAttester(bytes32 uid) view returns (address)',
  'function getAttestation(bytes32 uid) view returns ((bytes32 uid, bytes32 schema, uint64 time, uint64 expirationTime, uint64 revocationTime, bytes32 refUID, address recipient, address attester, bool revocable, bytes data))',
]

/**
 * Number of the newest blocks that are read again each time: a reorg replaces blocks, and one node of a
 * provider may lag behind another one that returned the newest block. It is about a minute on chains with
 * four blocks per second.
 */
export const OVERLAP_BLOCKS = 256

/** An attestation whose attester signed it, itself or through the proxy. */
export interface Attested {
  chain: string
  uid: string
  /** Unix seconds of its block */
  time: number
  /** Unix seconds of its payload, or of its block if it is not an answer */
  signed: number
  /** Key of its content (`contentKey`), which an entry of the log with the same content has too. */
  key: string
}

/** Signed content that EAS stores in an attestation. */
export interface AttestedContent {
  attester: string
  schema: string
  recipient: string
  /** Unix seconds */
  expirationTime: number | bigint
  revocable: boolean
  refUID: string
  data: string
}

/**
 * Key of the content that the entry and the attestation of an answer share. It is a whole hash of all fields:
 * the attester chooses the content of both, and could otherwise log one answer to hide another one, for
 * example for another recipient.
 */
export async function contentKey(
  chainId: number,
  { attester, schema, recipient, expirationTime, revocable, refUID, data }: AttestedContent,
): Promise<string> {
  const { keccak256, stringToHex } = await import('viem')
  const fields = [chainId, attester, schema, recipient, expirationTime, revocable, refUID, data]
  return keccak256(stringToHex(fields.join(' ').toLowerCase()))
}

/** Attestations of one read. */
interface Read {
  /** attestations by the attester that the last read did not return */
  found: Attested[]
  /** first block of the next read */
  next: number
  /** attestations in blocks that the next read includes: numbers of their blocks by UID */
  known: Record<string, number>
}

/**
 * Reads attestations in blocks from `from`, or in the newest block if it is undefined. `known` is that of
 * the last read.
 */
export async function attestedSince(
  client: Pick<PublicClient<HttpTransport>, 'getBlockNumber' | 'getLogs' | 'readContract'>,
  { eas, proxy, attester, otherAttesters = [], id, slug }: AttesterOfChain,
  from: number | undefined,
  known: Readonly<Record<string, number>> = {},
): Promise<Read> {
  const { parseAbi } = await import('viem')
  const { decodeClaims } = await import('@geospatial-attestation/client')
  const [event] = parseAbi(EVENT)
  const abi = parseAbi(CALLS)
  const newest = Number(await client.getBlockNumber({ cacheTime: 0 }))
  const first = from ?? newest
  let next = Math.max(first, newest + 1 - OVERLAP_BLOCKS)
  const own = [attester, ...otherAttesters].map((each) => each.toLowerCase())
  const attesters = [...own, ...(proxy ? [proxy.address] : [])] as `0x${string}`[]
  const blocks = { ...known }
  const found: Attested[] = []
  for (let start = first; start <= newest; start += BLOCKS) {
    const logs = await client.getLogs({
      ...{ address: eas as `0x${string}`, event: event as never, args: { attester: attesters } as never },
      ...{ fromBlock: BigInt(start), toBlock: BigInt(Math.min(newest, start + BLOCKS - 1)) },
    })
    for (const { args, blockNumber } of logs as unknown as EventLog[]) {
      const { uid } = args
      if (blocks[uid] === undefined) {
        const call = { abi, args: [uid] } as never as { abi: typeof abi; args: [`0x${string}`] }
        const address = eas as `0x${string}`
        const attestation = (await client.readContract({
          ...call,
          address,
          functionName: 'getAttestation',
        })) as AttestedContent & { time: bigint }
        const proxied = proxy && attestation.attester.toLowerCase() === proxy.address.toLowerCase()
        const author = proxied
          ? String(
              await client.readContract({
                ...{ ...call, address: proxy.address as `0x${string}`, functionName: 'getAttester' as const },
              }),
            )
          : attestation.attester
        // A node that lags behind returns zeros. The next read includes the block.
        if (BigInt(author) === 0n) {
          next = Math.min(next, Number(blockNumber))
          continue
        }
        const time = Number(attestation.time)
        if (own.includes(author.toLowerCase()))
          found.push({
            ...{ chain: slug, uid, time, key: await contentKey(id, { ...attestation, attester: author }) },
            signed: decodeClaims(attestation.data as `0x${string}`)?.timestamp ?? time,
          })
      }
      blocks[uid] = Number(blockNumber)
    }
  }
  return {
    found,
    next,
    known: Object.fromEntries(Object.entries(blocks).filter(([, block]) => block >= next)),
  }
}

type AttesterOfChain = Pick<Chain, 'eas' | 'proxy' | 'attester' | 'otherAttesters' | 'id' | 'slug'>
interface EventLog {
  args: { uid: `0x${string}` }
  blockNumber: bigint
}
