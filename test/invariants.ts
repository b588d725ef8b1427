import { expect } from 'vitest'
import { LOCAL_CHAIN, type LocalChain } from '../dev/chain'
import { stateSchema } from '../src/chains'
import { bodyOf, eventOf, type ReadRow } from '../src/database'
import { hashesToUid } from '../src/eas'
import { hexNumber, type RpcLog } from '../src/history'
import { EventKind } from '../src/model'
import { eventFilter } from '../src/processor'
import { project } from '../src/project'
import { rows } from './database'

/**
 * What must hold of a chain (Base Sepolia unless named) after every fault, once its indexer has caught up (TRUST.md 6):
 * I1 the projection is what the log gives when projected from nothing; I2 every body is the chain's and hashes to its
 * UID; I3 the log holds exactly the Attested and Revoked of the chain's receipts; I4 the cursor's block is canonical.
 */
export async function expectInvariants({ chains, databaseUrl }: { chains: ReadonlyMap<string, LocalChain>; databaseUrl: string }, slug = LOCAL_CHAIN.slug): Promise<void> {
  const local = chains.get(slug)!
  const { chain, provider } = local
  const log = await rows<ReadRow>(databaseUrl, 'SELECT * FROM attestation_event WHERE chain = $1 ORDER BY block_number, log_index', [slug])

  expect(log.map((row) => [row.block_number, row.block_hash, row.log_index, row.transaction_hash, row.uid])).toEqual(
    (await receiptLogs(local)).map((entry) => [Number(entry.blockNumber), entry.blockHash, Number(entry.logIndex), entry.transactionHash, entry.data]),
  )

  const contract = await local.eas()
  for (const row of log.filter((each) => each.kind === EventKind.ATTESTED)) {
    const body = bodyOf(row)
    expect(await hashesToUid(body, row.uid)).toBe(true)
    const stored = await contract.getFunction('getAttestation').staticCall(row.uid)
    expect([stored.uid, stored.data, stored.time]).toEqual([row.uid, body.data, body.time])
  }

  const bodies = new Map(log.filter((row) => row.kind === EventKind.ATTESTED).map((row) => [row.uid, bodyOf(row)]))
  const replayed = project(slug, log.map(eventOf), bodies, new Date(0))
  const projected = await rows<Record<string, unknown>>(databaseUrl, 'SELECT * FROM location_record WHERE chain = $1', [slug])
  const comparable = (record: Record<string, unknown>) => {
    const { created_at, updated_at, geom, ...rest } = record
    // pg gives numeric columns as text.
    const plain = (value: unknown) => (typeof value === 'number' || typeof value === 'bigint' ? value.toString() : value)
    return Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, plain(value)]))
  }
  const byId = (list: Record<string, unknown>[]) => Object.fromEntries(list.map((record) => [record.id, comparable(record)]))
  expect(byId(projected)).toEqual(byId(replayed.records as unknown as Record<string, unknown>[]))
  expect(log.map((row) => row.problem)).toEqual(replayed.events.map((row) => row.problem))

  const [cursor] = await rows<{ height: number; hash: string }>(databaseUrl, `SELECT height, hash FROM ${stateSchema(chain)}.status`)
  expect((await provider.getBlock(cursor!.height))?.hash).toBe(cursor!.hash)
}

/** The logs of ours in the receipts of all blocks, asked of the node itself: eth_getLogs is what may lie. */
async function receiptLogs({ chain, provider, url }: LocalChain): Promise<RpcLog[]> {
  const batch = async <T>(method: string, paramsOf: unknown[][]): Promise<T[]> => {
    const results: T[] = []
    for (let i = 0; i < paramsOf.length; i += 500) {
      const calls = paramsOf.slice(i, i + 500).map((params, id) => ({ jsonrpc: '2.0', id, method, params }))
      const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(calls) })
      results.push(...((await response.json()) as { result: T }[]).map(({ result }) => result))
    }
    return results
  }
  const head = await provider.getBlockNumber()
  const numbers = Array.from({ length: head - chain.firstBlock + 1 }, (_, i) => hexNumber(chain.firstBlock + i))
  const headers = await batch<{ number: string; transactions: string[] }>('eth_getBlockByNumber', numbers.map((number) => [number, false]))
  const receipts = await batch<{ logs: RpcLog[] }[]>('eth_getBlockReceipts', headers.filter(({ transactions }) => transactions.length).map(({ number }) => [number]))
  const { address, topic0, topic3 } = eventFilter(chain)
  return receipts.flat().flatMap(({ logs }) => logs).filter((entry) => address.includes(entry.address.toLowerCase()) && topic0.includes(entry.topics[0]!) && topic3.includes(entry.topics[3]!))
}
