import { get } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { percentile, processMegabytes, rounded, type Bench, type Table } from './bench'
import { filledDatabase } from './generated-records'
import { startApi } from './records'

const COUNT = Number(process.env.BENCH_EXPORTS || 1_000_000)
const FORMATS = ['ndjson', 'geojson', 'csv', 'geoparquet', 'flatgeobuf']

/**
 * Measures the export of all records in each format, each from its own API process: speed, memory, and the
 * effect on other requests.
 */
export async function exportsOfRecords(bench: Bench): Promise<Table[]> {
  const databaseUrl = await filledDatabase(bench, COUNT)
  const table: Table[number][] = []
  for (const format of FORMATS) {
    bench.report(`${COUNT} records as ${format} ...`)
    const { url, service } = await startApi(bench, databaseUrl, {}, `api-${format}`)
    const before = processMegabytes(service.pid, 'VmHWM')
    const asking = new AbortController()
    const waits = others(`${url}/api/v0/config`, asking.signal)
    const started = performance.now()
    const { bytes, firstMs } = await download(`${url}/api/v0/location-records?format=${format}`)
    const seconds = (performance.now() - started) / 1000
    asking.abort()
    const times = await waits
    table.push({
      records: COUNT,
      format,
      seconds: rounded(seconds),
      secondsToFirst: rounded(firstMs / 1000),
      megabytes: Math.round(bytes / 1e6),
      megabytesPerSecond: rounded(bytes / 1e6 / seconds),
      recordsPerSecond: Math.round(COUNT / seconds),
      peakMegabytesBefore: before,
      peakMegabytesAfter: processMegabytes(service.pid, 'VmHWM'),
      othersP99Ms: rounded(percentile(times, 0.99)),
      othersMaxMs: rounded(percentile(times, 1)),
    })
    await service.stop()
  }
  return [table]
}

/** Times of small sequential requests, milliseconds. These requests wait only for the event loop. */
async function others(url: string, signal: AbortSignal): Promise<number[]> {
  const times: number[] = []
  while (!signal.aborted) {
    const started = performance.now()
    await (await fetch(url)).arrayBuffer()
    times.push(performance.now() - started)
    await pause(5)
  }
  return times
}

function download(url: string): Promise<{ bytes: number; firstMs: number }> {
  const started = performance.now()
  return new Promise((resolve, reject) => {
    get(url, (response) => {
      let [bytes, firstMs] = [0, 0]
      response.on('data', (chunk: Buffer) => {
        // The first sixteen bytes may be keep-alive bytes.
        if (bytes <= 16) firstMs = performance.now() - started
        bytes += chunk.length
      })
      response.once('end', () => resolve({ bytes, firstMs }))
      response.once('error', reject)
    }).once('error', reject)
  })
}
