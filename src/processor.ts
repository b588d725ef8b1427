import { EvmBatchProcessor, type EvmBatchProcessorFields } from '@subsquid/evm-processor'
import * as eas from './abi/EAS'
import type { Chain } from './chains'
import type { BlockLogs, LogFilter } from './history'
import { isLocationSchema, locationSchemaUids } from './location'
import { EventKind } from './model'
import type { ChainEvent } from './project'

/** What to ask of a chain: Attested and Revoked of the location schemas, from its EAS. */
export function eventFilter(chain: Chain): Required<Pick<LogFilter, 'address' | 'topic0' | 'topic3'>> {
  return {
    address: [chain.eas],
    topic0: [eas.events.Attested.topic, eas.events.Revoked.topic],
    topic3: locationSchemaUids(),
  }
}

const EVENT_KINDS = new Map<string, EventKind>([
  [eas.events.Attested.topic, EventKind.ATTESTED],
  [eas.events.Revoked.topic, EventKind.REVOKED],
])

/** The events of one block, in order, each once: `timestamp` in Unix milliseconds; logs of anything else are passed over. */
export function decodeEvents(
  chain: Chain,
  block: { height: number; hash: string; timestamp: number },
  logs: readonly EventLog[],
): ChainEvent[] {
  const events = new Map<number, ChainEvent>()
  for (const entry of logs) {
    const kind = entry.address === chain.eas ? EVENT_KINDS.get(entry.topics[0]!) : undefined
    if (!kind || !isLocationSchema(entry.topics[3]!)) continue
    // Both events have the same parameters.
    const { uid, schemaUID, attester, recipient } =
      eas.events[kind === EventKind.ATTESTED ? 'Attested' : 'Revoked'].decode(entry)
    events.set(entry.logIndex, {
      kind,
      uid,
      schemaUid: schemaUID,
      attester,
      recipient,
      blockNumber: block.height,
      blockHash: block.hash,
      blockTimestamp: block.timestamp,
      transactionHash: entry.transactionHash,
      logIndex: entry.logIndex,
    })
  }
  return [...events.values()].sort((a, b) => a.logIndex - b.logIndex)
}

/** A log as evm-processor gives it. */
export interface EventLog {
  address: string
  topics: string[]
  data: string
  logIndex: number
  transactionHash: string
}

/** A block as JSON-RPC gives it, decoded. */
export function decodeBlock(chain: Chain, { header, logs }: BlockLogs): ChainEvent[] {
  return decodeEvents(
    chain,
    { height: Number(header.number), hash: header.hash, timestamp: Number(header.timestamp) * 1000 },
    logs.map((log) => ({ ...log, address: log.address.toLowerCase(), logIndex: Number(log.logIndex) })),
  )
}

/** The Unix seconds at which each attestation announced by these events was made: what BodyReader asks for. */
export function announcedTimes(events: readonly ChainEvent[]): Map<string, bigint> {
  return new Map(
    events
      .filter(({ kind }) => kind === EventKind.ATTESTED)
      .map(({ uid, blockTimestamp }) => [uid, BigInt(blockTimestamp / 1000)]),
  )
}

/** Reads a chain's events: history from `gatewayUrl`, the head from `rpcUrl` (source.ts). */
export function makeProcessor(chain: Chain, gatewayUrl: string, rpcUrl: string, headPollMs: number) {
  return new EvmBatchProcessor()
    .setGateway(gatewayUrl)
    .setRpcEndpoint({ url: rpcUrl, maxBatchCallSize: 100 })
    .setRpcDataIngestionSettings({ headPollInterval: headPollMs })
    .setFinalityConfirmation(chain.finality)
    .setBlockRange({ from: chain.firstBlock })
    .setFields({ log: { transactionHash: true } })
    .addLog(eventFilter(chain))
}

export type Fields = EvmBatchProcessorFields<ReturnType<typeof makeProcessor>>
