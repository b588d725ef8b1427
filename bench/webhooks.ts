import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { percentile, processMegabytes, type Bench, type Table } from './bench'
import { insertRecordsSql } from './generated-records'
import { startApi } from './records'

const SUBSCRIPTIONS = Number(process.env.BENCH_WEBHOOKS || 1_000)
/** Number of records of the burst, which are inserted at once. */
const BURST = 20
/**
 * Number of records inserted one after another, each once the previous one was delivered to all
 * subscriptions.
 */
const SINGLE = 20

/**
 * Measures webhooks with several API processes, subscriptions without a filter, and one receiver in this
 * process that responds at once.
 */
export async function webhooks(bench: Bench): Promise<Table[]> {
  const databaseUrl = await bench.migratedDatabase()
  const arrived: number[] = []
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      arrived.push(performance.now())
      response.writeHead(204).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  bench.atEnd(async () => void server.close().closeAllConnections())
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const file = path.join(bench.folder, 'webhooks.json')
  const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
  writeFileSync(
    file,
    JSON.stringify(
      Array.from({ length: SUBSCRIPTIONS }, (_, i) => ({ id: `s${i}`, url: `http://${host}/${i}`, secret })),
    ),
  )
  const client = await bench.connect(databaseUrl)
  await client.query(insertRecordsSql(), [1, 1])
  const { service } = await startApi(bench, databaseUrl, {
    WEBHOOKS_FILE: file,
    WEBHOOK_PRIVATE_HOSTS: host,
  })
  const count = async (where: string) =>
    (await client.query<{ count: number }>(`SELECT count(*)::int FROM webhook_subscription WHERE ${where}`))
      .rows[0]!.count
  while ((await count('position IS NOT NULL')) < SUBSCRIPTIONS) await pause(100)
  let next = 2
  /** Latencies in milliseconds from the commit of these records to each delivery. */
  const deliver = async (records: number): Promise<number[]> => {
    arrived.length = 0
    await client.query(insertRecordsSql(), [next, next + records - 1])
    const began = performance.now()
    next += records
    while (arrived.length < records * SUBSCRIPTIONS) {
      await pause(20)
      bench.progress('messages', arrived.length, records * SUBSCRIPTIONS)
    }
    return arrived.map((at) => at - began)
  }
  await deliver(2)
  const burst = await deliver(BURST)
  const single: number[] = []
  for (let i = 0; i < SINGLE; i++) {
    single.push(...(await deliver(1)))
    await pause(200)
  }
  const megabytes = processMegabytes(service.pid, 'VmHWM')
  // Latencies of deliveries by a second API instance after the first one is killed.
  await startApi(bench, databaseUrl, { WEBHOOKS_FILE: file, WEBHOOK_PRIVATE_HOSTS: host }, 'api-2')
  await service.kill()
  const takenOver = await deliver(1)
  const at = (list: number[], share: number) => Math.round(percentile(list, share))
  return [
    [
      {
        subscriptions: SUBSCRIPTIONS,
        burstRecords: BURST,
        messagesPerSecond: Math.round(burst.length / (Math.max(...burst) / 1000)),
        burstP50Ms: at(burst, 0.5),
        burstP99Ms: at(burst, 0.99),
        singleP50Ms: at(single, 0.5),
        singleP99Ms: at(single, 0.99),
        killedP50Ms: at(takenOver, 0.5),
        killedMaxMs: at(takenOver, 1),
        processMegabytes: megabytes,
      },
    ],
  ]
}
