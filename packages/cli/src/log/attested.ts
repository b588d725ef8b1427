// SPDX-License-Identifier: MIT
import type { HttpTransport, PublicClient } from 'viem'
import { ATTEST_FIELDS, LONGEST_DEADLINE_SECONDS } from '../../../../src/eas/layouts'
import { unixSeconds } from './alarms'

/** Attestations by the service's attester on a chain, to compare them with the log. */

/** Maximum number of blocks of one request: providers refuse more. */
const BLOCKS = 2_000
const EVENTS = [
  'event Attested(address indexed recipient, address indexed attester, bytes32 uid, bytes32 indexed schema)',
  'event Landed(bytes32 indexed uid, uint32 epoch, uint256 signers)',
]
const CALLS = [
  'function getAttestTypeHash() view returns (bytes32)',
  'function getAttester(bytes32 uid) view returns (address)',
  'function getAttestation(bytes32 uid) view returns ((bytes32 uid, bytes32 schema, uint64 time, uint64 expirationTime, uint64 revocationTime, bytes32 refUID, address recipient, address attester, bool revocable, bytes data))',
  'function epochOf(uint32 epoch) view returns ((uint64 validFrom, uint64 validUntil, uint8 threshold, address[] operators))',
]

/**
 * Number of the newest blocks that are read again each time: a reorg replaces blocks, and one node of a
 * provider may lag behind another one that returned the newest block. It is about a minute on chains with
 * four blocks per second.
 */
export const OVERLAP_BLOCKS = 256

/** An attestation whose attester signed it, itself, through the proxy, or as an operator of a quorum. */
export interface Attested {
  chain: string
  uid: string
  /** Unix seconds of its block */
  time: number
  /** Unix seconds of its payload, or of its block if it is not an answer */
  signed: number
  /** Unix seconds before which the service cannot have signed it */
  earliest: number
  /** Unix seconds of the monitor's clock when it found the attestation */
  seen: number
  /** Key of its content (`contentKey`), which an entry of the log with the same content has too. */
  key: string
}

/**
 * Maximum number of seconds between a signature and its attestation: DEADLINE_SECONDS is at most a week, a
 * coordinator's clock may be a minute ahead, and clocks of chains differ by up to some minutes.
 */
export const LANDING_SECONDS = LONGEST_DEADLINE_SECONDS + 3_600
/** Maximum number of seconds by which the time of a payload may be ahead of the operator's clock. */
const SKEW_SECONDS = 60

/**
 * Earliest time at which an honest service can have signed an attestation. Signatures for EAS 0.26 and 1.0
 * have no deadline, so only the time of the payload limits it. An answer may be signed again later, so a
 * payload can be older than any signature of it that can still land.
 */
export function earliestOf(
  { time, signed }: Pick<Attested, 'time' | 'signed'>,
  hasDeadline: boolean,
): number {
  const sinceComputed = Math.min(signed, time) - SKEW_SECONDS
  return hasDeadline ? Math.max(sinceComputed, time - LANDING_SECONDS) : sinceComputed
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

/** Reads attestations since the block `from`, the newest by default. `known` is that of the last read. */
export async function attestedSince(
  client: Pick<PublicClient<HttpTransport>, 'getBlockNumber' | 'getLogs' | 'readContract'>,
  { eas, proxies, attesters: own, quorums, id, slug }: Contracts,
  from: number | undefined,
  known: Readonly<Record<string, number>> = {},
): Promise<Read> {
  const { keccak256, parseAbi, stringToHex, zeroAddress } = await import('viem')
  const { decodeClaims } = await import('@geospatial-attestation/client')
  const [attestedEvent, landedEvent] = parseAbi(EVENTS)
  const abi = parseAbi(CALLS)
  const newest = Number(await client.getBlockNumber({ cacheTime: 0 }))
  const first = from ?? newest
  let next = Math.max(first, newest + 1 - OVERLAP_BLOCKS)
  const attesters = [...own, ...proxies] as `0x${string}`[]
  const blocks = { ...known }
  const found: Attested[] = []
  const call: Call = (address, functionName, args, blockNumber) =>
    client.readContract({ abi, address, functionName, args, blockNumber } as never)

  let layout: Promise<unknown> | undefined
  /** True if the contract's signatures have a deadline. The service, which names its version, may lie. */
  const hasDeadlines = async () => {
    const fields = ATTEST_FIELDS.legacy.map(({ type, name }) => `${type} ${name}`)
    const typeHash = await (layout ??= call(eas, 'getAttestTypeHash', []))
    return typeHash !== keccak256(stringToHex(`Attest(${fields.join(',')})`))
  }
  /** Accounts that signed an attestation; zero if the node does not know it yet. */
  const authorsOf = async (recorded: string, log: EventLog): Promise<string[]> => {
    if (log.quorum !== undefined) return signersOf(call, zeroAddress, log.quorum, log)
    if (own.includes(recorded)) return [recorded]
    return [String(await call(recorded, 'getAttester', [log.args.uid]))]
  }

  for (let start = first; start <= newest; start += BLOCKS) {
    const range = { fromBlock: BigInt(start), toBlock: BigInt(Math.min(newest, start + BLOCKS - 1)) }
    const read = async (address: string, event: object, args: object) =>
      (await client.getLogs({ address, event, args, ...range } as never)) as unknown as EventLog[]
    const logs = await read(eas, attestedEvent!, { attester: attesters })
    for (const quorum of quorums)
      logs.push(...(await read(quorum, landedEvent!, {})).map((log) => ({ ...log, quorum })))
    for (const log of logs) {
      const { args, blockNumber } = log
      const { uid } = args
      if (blocks[uid] === undefined) {
        const attestation = (await call(eas, 'getAttestation', [uid])) as AttestedContent & { time: bigint }
        const recorded = attestation.attester.toLowerCase()
        const isKnown = BigInt(recorded) !== 0n
        // An event of another contract must not replace that of the quorum that attested it.
        if (isKnown && log.quorum !== undefined && recorded !== log.quorum) continue
        const authors = isKnown ? await authorsOf(recorded, log) : [recorded]
        // A node that lags behind returns zeros. The next read includes the block.
        if (authors.some((author) => BigInt(author) === 0n)) {
          next = Math.min(next, Number(blockNumber))
          continue
        }
        const time = Number(attestation.time)
        const signed = decodeClaims(attestation.data as `0x${string}`)?.timestamp ?? time
        const isLimited = !own.includes(recorded) || (await hasDeadlines())
        const earliest = earliestOf({ time, signed }, isLimited)
        for (const author of authors.filter((each) => own.includes(each.toLowerCase())))
          found.push({
            ...{ chain: slug, uid, time, signed, earliest, seen: unixSeconds() },
            key: await contentKey(id, { ...attestation, attester: author }),
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

/** Calls a function of a contract, at the newest block by default. */
type Call = (address: string, functionName: string, args: unknown[], block?: bigint) => Promise<unknown>

/** Operators that signed an attestation of a quorum; zero if the node does not know the epoch yet. */
async function signersOf(
  call: Call,
  zero: string,
  quorum: string,
  { args, blockNumber }: EventLog,
): Promise<string[]> {
  const { epoch, signers } = args
  const operatorsAt = async (block?: bigint) => {
    const { operators } = (await call(quorum, 'epochOf', [epoch], block)) as { operators: string[] }
    return operators.filter((_, index) => (signers! >> BigInt(index)) & 1n)
  }
  // A removed operator is zero from its block on. Nodes without earlier states know the current one only.
  const current = await operatorsAt(blockNumber).catch(() => operatorsAt())
  const chosen = current.includes(zero) ? await operatorsAt(blockNumber - 1n).catch(() => current) : current
  return chosen.length === 0 ? [zero] : chosen.filter((each) => each !== zero)
}

/** Accounts and contracts of the service on a chain, lower-case. */
export interface Named {
  /** attesters that sign its answers, or have signed them */
  attesters: readonly string[]
  /** GeoQuorum contracts of which they are or were operators */
  quorums: readonly string[]
  /** EIP-712 proxies through which its answers land */
  proxies: readonly string[]
}
type Contracts = Named & { id: number; slug: string; eas: string }
interface EventLog {
  /** `epoch` and `signers`, a bitmap of the epoch's operators, are those of a quorum's attestation */
  args: { uid: `0x${string}`; epoch?: number; signers?: bigint }
  blockNumber: bigint
  /** contract of the event if it is a quorum, lower-case */
  quorum?: string
}
