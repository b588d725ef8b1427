import type { BlockData, DataHandlerContext } from '@subsquid/evm-processor'
import { createLogger } from '@subsquid/logger'
import { RpcClient } from '@subsquid/rpc-client'
import { TypeormDatabase, type Store } from '@subsquid/typeorm-store'
import { In } from 'typeorm'
import * as eas from './abi/EAS'
import { BodyReader } from './bodies'
import { chainBySlug, stateSchema, type Chain } from './chains'
import { SettingsError, exportDatabaseUrl, processSettings, type ConnectedChain } from './config'
import { isLocationSchema } from './location'
import { EventKind, LocationRecord } from './model'
import { makeProcessor, type Fields } from './processor'
import { project, recordId, type ChainEvent } from './project'
import { startSparseSource } from './sparse-source'

const log = createLogger('indexer')
const EVENT_KINDS = new Map<string, EventKind>([
  [eas.events.Attested.topic, EventKind.ATTESTED],
  [eas.events.Revoked.topic, EventKind.REVOKED],
])

/** One chain's indexer: `node lib/main.js <chain slug>`. Exits non-zero when it cannot go on; whoever runs it starts it again. */
async function main(): Promise<void> {
  const settings = processSettings('database', 'chains')
  const connected = chosenChain(settings.chains, process.argv[2])
  const { chain } = connected
  const rpc = new RpcClient({ url: connected.rpcUrl, maxBatchCallSize: 100, requestTimeout: 30_000, retryAttempts: Number.MAX_SAFE_INTEGER, log })
  await checkEndpoint(rpc, chain)

  const gatewayUrl = connected.gatewayUrl ?? (await startSparseSource({ rpc, finality: chain.finality, log })).url
  const bodies = new BodyReader(rpc, chain.eas)
  exportDatabaseUrl(settings)
  // READ COMMITTED: processors of other chains write to the same tables, but never to the same rows, and the
  // store's own nonce check stops a second processor of this chain. SERIALIZABLE would make them abort each other (40001).
  const database = new TypeormDatabase({ supportHotBlocks: true, stateSchema: stateSchema(chain), isolationLevel: 'READ COMMITTED' })
  makeProcessor(connected, gatewayUrl).run(database, (context) => processBatch(chain, bodies, context))
}

/** Decode, read bodies, project, write: a batch whole or not at all, as it runs in one database transaction. */
async function processBatch(chain: Chain, bodies: BodyReader, { blocks, store, isHead }: DataHandlerContext<Store, Fields>): Promise<void> {
  const started = performance.now()
  const events = blocks.flatMap((block) => decodeEvents(chain, block))
  if (events.length === 0) return

  const announced = events.filter((event) => event.kind === EventKind.ATTESTED)
  const found = await bodies.read(new Map(announced.map((event) => [event.uid, BigInt(event.blockTimestamp / 1000)])))
  const fetched = performance.now()

  const revoked = events.filter((event) => event.kind === EventKind.REVOKED).map((event) => recordId(chain.slug, event.uid))
  const stored = revoked.length ? await store.findBy(LocationRecord, { id: In(revoked) }) : []
  const rows = project(chain.slug, events, found, stored, new Date())
  const projected = performance.now()

  await store.insert(rows.events)
  await store.insert(rows.inserted)
  await store.upsert(rows.updated)

  log.info(
    {
      chain: chain.slug,
      from: blocks[0]!.header.height,
      to: blocks[blocks.length - 1]!.header.height,
      head: isHead,
      attested: announced.length,
      revoked: revoked.length,
      records: rows.inserted.length,
      problems: rows.events.filter((row) => row.problem).length,
      bodiesMs: Math.round(fetched - started),
      projectMs: Math.round(projected - fetched),
      writeMs: Math.round(performance.now() - projected),
    },
    'batch written',
  )
}

/** The events of one block, in order, each once. */
function decodeEvents(chain: Chain, { header, logs }: BlockData<Fields>): ChainEvent[] {
  const events = new Map<number, ChainEvent>()
  for (const entry of logs) {
    const kind = entry.address === chain.eas ? EVENT_KINDS.get(entry.topics[0]!) : undefined
    if (!kind) continue
    // Both events have the same parameters.
    const { uid, schemaUID, attester, recipient } = eas.events[kind === EventKind.ATTESTED ? 'Attested' : 'Revoked'].decode(entry)
    if (!isLocationSchema(schemaUID)) continue
    events.set(entry.logIndex, {
      kind,
      uid,
      schemaUid: schemaUID,
      attester,
      recipient,
      blockNumber: header.height,
      blockHash: header.hash,
      blockTimestamp: header.timestamp,
      transactionHash: entry.transactionHash,
      logIndex: entry.logIndex,
    })
  }
  return [...events.values()].sort((a, b) => a.logIndex - b.logIndex)
}

/** Refuses an endpoint of another chain, or one without our contract, before anything is written. */
async function checkEndpoint(rpc: RpcClient, chain: Chain): Promise<void> {
  const id = Number(await rpc.call<string>('eth_chainId'))
  if (id !== chain.id) throw new SettingsError(`The RPC endpoint of ${chain.slug} is on chain ${id}, not ${chain.id}: correct its RPC_URL_*`)
  const code = await rpc.call<string>('eth_getCode', [chain.eas, 'latest'])
  if (code === '0x') throw new SettingsError(`There is no EAS contract at ${chain.eas} on the RPC endpoint of ${chain.slug}`)
}

function chosenChain(chains: readonly ConnectedChain[], slug: string | undefined): ConnectedChain {
  const wanted = slug ? chainBySlug(slug) : chains.length === 1 ? chains[0]!.chain : undefined
  const found = chains.find((c) => c.chain === wanted)
  if (!found) throw new SettingsError(`Say which chain to index, one of: ${chains.map((c) => c.chain.slug).join(', ')} (for example: npm run index -- ${chains[0]!.chain.slug})`)
  return found
}

// Killing it at any moment is safe: a batch is one transaction. So a stop is an exit.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(0))
if (process.send) process.once('disconnect', () => process.exit(0))

main().catch((error: Error) => {
  const wrongSettings = error instanceof SettingsError
  if (wrongSettings) log.fatal(error.message)
  else log.fatal(error)
  process.exit(wrongSettings ? 2 : 1)
})
