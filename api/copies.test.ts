import cluster from 'node:cluster'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { SummedFigures, unlessEnded } from './copies'

/** Metrics of an API process that served some requests. */
async function metricsOf(requests: number): Promise<object[][]> {
  const registers = [new Registry()]
  new Counter({ name: 'requests_total', help: '-', registers }).inc(requests)
  new Gauge({ name: 'streams', help: '-', registers }).inc(requests)
  const times = new Histogram({ name: 'seconds', help: '-', buckets: [1], registers })
  for (let i = 0; i < requests; i++) times.observe(0.5)
  return [await registers[0]!.getMetricsAsJSON()]
}

test('counters and histograms keep the metrics of API processes that ended, gauges do not', async () => {
  const figures = new SummedFigures()
  const lines = async () => (await figures.text()).split('\n').filter((line) => /^[^#]/.test(line))
  figures.note(1, await metricsOf(2))
  figures.note(2, await metricsOf(3))
  expect(await lines()).toContain('requests_total 5')
  for (const ended of [2, 1]) {
    figures.end(ended)
    expect(await lines()).toContain('requests_total 5')
  }
  figures.note(3, await metricsOf(1))
  const all = await lines()
  expect(all.filter((line) => !line.startsWith('seconds_bucket'))).toEqual([
    'requests_total 6',
    'streams 1',
    'seconds_sum 3',
    'seconds_count 6',
  ])
  expect(all).toContain('seconds_bucket{le="1"} 6')
})

test('metrics are not awaited after an API process has ended', async () => {
  const collecting = unlessEnded(new Promise(() => {}))
  cluster.emit('exit')
  await expect(collecting).rejects.toThrow('ended')
  await unlessEnded(Promise.resolve())
  expect(cluster.listenerCount('exit')).toBe(0)
})
