import { readdirSync } from 'node:fs'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { LOCAL_CHAIN } from '../dev/chain'
import { freePort, startService } from '../dev/services'
import { startWorld, waitForHead, type World } from '../dev/world'
import { seededRandom } from '../dev/random'
import { SEED, attestPoints, processMegabytes, processStatus, randomPoint } from './ingest'
import type { Load, Measured } from './load'
import type { Bench, Table } from './bench'

const CONCURRENCIES = [1, 8, 32]
const WARM_UP_SECONDS = 2
const SECONDS = 8
/** Points attested for the requests by UID. */
const ATTESTED = 500
/** Different requests of a kind, sent in turn: none may be answered out of a memory of the last one. */
const BODIES = 1_000

/** How fast the whole service answers distances, and how that compares with a route that only signs. */
export async function distance(bench: Bench): Promise<Table[]> {
  const world = await bringUp(bench)
  const random = seededRandom(SEED)
  const uids = await attestPoints(world.chain!, ATTESTED, bench.progress)
  await waitForHead(world.settings, world.chain!, bench.progress)
  const bodies = (input: () => unknown) => Array.from({ length: BODIES }, () => JSON.stringify({ chainId: LOCAL_CHAIN.id, from: input(), to: input() }))
  const byPoints = bodies(() => randomPoint(random))
  const byUids = bodies(() => uids[Math.floor(random() * uids.length)])

  const barePort = await freePort()
  const bare = startService('bare', ['dist/bench/bare.js', String(barePort)], bench.environment, bench.folder)
  bench.atEnd(() => bare.stop())
  await bare.ready

  const url = `${world.settings.publicBaseUrl}/compute/v0/distance`
  const rows: Table[number][] = []
  for (const concurrency of CONCURRENCIES) {
    const measure = async (load: string, to: string, bodies: string[]) => {
      bench.report(`${load}, ${concurrency} at a time ...`)
      await run({ url: to, bodies, concurrency, seconds: WARM_UP_SECONDS })
      return { load, concurrency, ...(await run({ url: to, bodies, concurrency, seconds: SECONDS })) }
    }
    const measured = [
      await measure('bare signing route', `http://127.0.0.1:${barePort}/`, byPoints),
      await measure('two GeoJSON points', url, byPoints),
      await measure('two UIDs', url, byUids),
    ]
    const ofBare = ({ requestsPerSecond }: Measured) => Math.round((requestsPerSecond / measured[0]!.requestsPerSecond) * 100) / 100
    rows.push(...measured.map((each) => ({ ...each, ofBareRate: ofBare(each) })))
  }
  return [rows, memory(world)]
}

/** The service as `npm start` brings it up, on free ports and a database of its own, without samples and limits. */
async function bringUp(bench: Bench): Promise<World> {
  const [port, chainPort] = await Promise.all([freePort(), freePort()])
  const world = await startWorld({
    environment: {
      ...bench.environment,
      DATABASE_URL: await bench.createDatabase(),
      PORT: String(port),
      CHAINS: LOCAL_CHAIN.slug,
      LOCAL_CHAIN_PORT: String(chainPort),
      RATE_LIMIT_PER_HOUR: '0',
      RECORDS_RATE_LIMIT_PER_HOUR: '0',
      HEAD_POLL_SECONDS: '0.5',
    },
    folder: bench.folder,
    samples: false,
    keep: false,
    report: bench.report,
    progress: bench.progress,
  })
  bench.atEnd(() => world.stop())
  return world
}

/** One load from a thread of its own, so that waiting for it costs it nothing. */
function run(load: Load): Promise<Measured> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(path.join(__dirname, 'load.js'), { workerData: load })
    worker.once('message', resolve)
    worker.once('error', reject)
  })
}

/** What the processes of the service hold after the load; the Postgres server's belongs to others too. */
function memory(world: World): Table {
  const processes = [...world.services.values()].map(({ name, pid }) => ({ process: name, pid }))
  const chain = localChainPid()
  if (chain !== undefined) processes.push({ process: 'local chain', pid: chain })
  return processes.map(({ process, pid }) => ({ process, rssMegabytes: processMegabytes(pid, 'VmRSS'), peakMegabytes: processMegabytes(pid, 'VmHWM') }))
}

/** The one child of this process that is called anvil; undefined where there is no /proc to look in. */
function localChainPid(): number | undefined {
  if (process.platform !== 'linux') return undefined
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  return pids.find((pid) => processStatus(pid, 'Name') === 'anvil' && processStatus(pid, 'PPid') === String(process.pid))
}
