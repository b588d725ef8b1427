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

/** An attestation whose attester signed it, itself or through the proxy. */
export interface Attested {
  chain: string
  uid: string
  /** Unix seconds of its block */
  time: number
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

/** Attestations in blocks from `from` to the newest one, and the number of the next block. */
export async function attestedSince(
  client: PublicClient<HttpTransport>,
  { eas, proxy, attester, otherAttesters = [], id, slug }: Chain,
  from: number | undefined,
): Promise<{ found: Attested[]; next: number }> {
  const { parseAbi } = await import('viem')
  const [event] = parseAbi(EVENT)
  const abi = parseAbi(CALLS)
  const newest = Number(await client.getBlockNumber({ cacheTime: 0 }))
  const own = [attester, ...otherAttesters].map((each) => each.toLowerCase())
  const attesters = [...own, ...(proxy ? [proxy.address] : [])] as `0x${string}`[]
  const found: Attested[] = []
  for (let start = from ?? newest; start <= newest; start += BLOCKS) {
    const logs = await client.getLogs({
      ...{ address: eas as `0x${string}`, event: event as never, args: { attester: attesters } as never },
      ...{ fromBlock: BigInt(start), toBlock: BigInt(Math.min(newest, start + BLOCKS - 1)) },
    })
    for (const { args } of logs as unknown as { args: { uid: `0x${string}` } }[]) {
      const { uid } = args
      const read = { abi, args: [uid] } as never as { abi: typeof abi; args: [`0x${string}`] }
      const address = eas as `0x${string}`
      const attestation = (await client.readContract({
        ...read,
        address,
        functionName: 'getAttestation',
      })) as AttestedContent & { time: bigint }
      const proxied = proxy && attestation.attester.toLowerCase() === proxy.address.toLowerCase()
      const author = proxied
        ? String(
            await client.readContract({
              ...{ ...read, address: proxy.address as `0x${string}`, functionName: 'getAttester' as const },
            }),
          )
        : attestation.attester
      if (!own.includes(author.toLowerCase())) continue
      const key = await contentKey(id, { ...attestation, attester: author })
      found.push({ chain: slug, uid, time: Number(attestation.time), key })
    }
  }
  return { found, next: newest + 1 }
}
