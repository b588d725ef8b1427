import { MISSING_PACKAGES, startCluster } from '../test/cluster'
import type { Bench, Table } from './bench'
import { fill } from './generated-records'
import { runWarm } from './load-thread'
import { startApi } from './records'

/** Number of records. Memory must hold two of the three copies of the data in addition to everything else. */
const SIZE = Number(process.env.BENCH_SCALING || 200_000)
const CONCURRENCY = 32
const SECONDS = 6
const KINDS = {
  newest: ['limit=20'],
  'by chain': ['base-sepolia', 'sepolia', 'arbitrum', 'celo'].map((chain) => `limit=20&chain=${chain}`),
  'by box': [2, 12, 28, 77, 103, -74, -46, 139].map((lng) => `limit=20&bbox=${lng},30,${lng + 1},50`),
}

/**
 * Measures lists per second of one API process with one, two and three database servers, directly and through
 * PgBouncer, without writes; and finally the bytes per record.
 */
export async function scaling(bench: Bench): Promise<Table[]> {
  if (MISSING_PACKAGES.length) throw new Error(`Missing Debian packages: ${MISSING_PACKAGES.join(', ')}`)
  const cluster = await startCluster(2, bench.folder)
  bench.atEnd(() => cluster.stop())
  const [primary, ...replicas] = cluster.servers
  const client = await bench.connect(primary!.url)
  await fill(bench, client, 0, SIZE)
  const [size] = (
    await client.query<{ bytes: string }>(
      `SELECT round(pg_total_relation_size('location_record')::numeric / ${SIZE}) AS bytes`,
    )
  ).rows
  await client.query('CHECKPOINT')
  const rows: Table[number][] = []
  for (const through of ['Postgres', 'PgBouncer'] as const)
    for (let servers = 1; servers <= cluster.servers.length; servers++) {
      const urlOf = (server: (typeof cluster.servers)[number]) =>
        through === 'Postgres' ? server.url : cluster.bouncerUrl('api', [server])
      const read = servers === 1 ? [] : [primary!, ...replicas].slice(0, servers)
      const name = `api-${through}-${servers}`
      const api = await startApi(
        bench,
        urlOf(primary!),
        { DATABASE_READ_URLS: read.map(urlOf).join(','), API_PROCESSES: '1' },
        name,
      )
      for (const [kind, queries] of Object.entries(KINDS)) {
        bench.report(`${servers} database servers through ${through}, ${kind} ...`)
        const urls = queries.map((query) => `${api.url}/api/v0/location-records?${query}`)
        const load = { urls, bodies: [], concurrency: CONCURRENCY, seconds: SECONDS }
        rows.push({ databaseServers: servers, through, kind, ...(await runWarm(load)) })
      }
      await api.service.stop()
    }
  return [rows, [{ records: SIZE, bytesOfRecordWithIndexes: Number(size!.bytes) }]]
}
