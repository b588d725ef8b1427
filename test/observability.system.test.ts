import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { beforeAll, expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import { attest, locationRequest } from '../dev/chain'
import { freePort } from '../dev/services'
import { temporaryFolder } from './database'
import { startTestWorld, type TestWorld } from './world'
import { needing } from './needs'

/**
 * Tests the metrics and logs of a running service, and checks ops/prometheus and ops/grafana against them and
 * with promtool.
 */

const rules = (
  parse(readFileSync('ops/prometheus/alerts.yml', 'utf8')) as {
    groups: { rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[]
  }
).groups.flatMap((group) => group.rules)
interface Dashboard {
  uid: string
  panels: { id: number; title: string; targets: { expr: string }[] }[]
}
const dashboards = readdirSync('ops/grafana').map(
  (file) => JSON.parse(readFileSync(`ops/grafana/${file}`, 'utf8')) as Dashboard,
)
const queries = [
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...dashboards.flatMap(({ uid, panels }) =>
    panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [`${uid}: ${title}`, expr] as const)),
  ),
]

let world: TestWorld
let indexerPort: number
beforeAll(async () => {
  indexerPort = await freePort()
  world = await startTestWorld(
    {
      INDEXER_METRICS_PORT: String(indexerPort),
      ADMIN_KEY: 'an-admin-key-of-32-characters-or-more',
      ...(process.env.TEST_REDIS_URL && { REDIS_URL: process.env.TEST_REDIS_URL }),
    },
    { processes: true },
  )
  const uid = await attest(world.chain, locationRequest({ type: 'Point', coordinates: [1, 2] }))
  await world.caughtUp()
  const asked = { chainId: world.chain.chain.id, from: uid, to: { type: 'Point', coordinates: [2, 2] } }
  expect((await world.post('/compute/v0/distance', asked)).status).toBe(200)
  // The service reads the balance only after a request for the metrics.
  const balance = /^geospatial_attester_balance\{chain="base-sepolia"\} \d/m
  await vi.waitUntil(async () => balance.test(await figures(world.url)), 30_000)
})

const figures = async (url: string) => (await fetch(`${url}/metrics`)).text()
const both = async () => [await figures(world.url), await figures(`http://127.0.0.1:${indexerPort}`)]

test('the service exports every metric that rules and dashboards name', async () => {
  const told = new Set((await both()).flatMap((text) => text.match(/^[a-z0-9_]+(?=[{ ])/gm) ?? []))
  for (const name of ['up', ...(process.env.TEST_REDIS_URL ? [] : ['geospatial_redis_up'])]) told.add(name)
  // No request has been limited yet, and the log has no witness.
  told.add('http_requests_rate_limited_total').add('geospatial_log_witness_requests_total')
  const words = /\b(?:up|(?:geospatial|http|nodejs|process|sqd)_[a-z0-9_]+)\b(?!=)/g
  for (const [where, query] of queries)
    for (const [name] of query.matchAll(words)) expect(told, where).toContain(name)
})

test('the service counts RPC calls by method and host only, at the API and the indexer', async () => {
  for (const text of await both()) {
    const host = new URL(world.chain.url).host
    const calls = text.match(/^geospatial_rpc_calls_total\{.*$/gm) ?? []
    expect(calls.length).toBeGreaterThan(2)
    for (const line of calls) expect(line).toContain(`chain="base-sepolia",endpoint="${host}",method="`)
  }
  const [ofApi] = await both()
  const [, count] = /^geospatial_rpc_calls_total\{.*method="eth_call",outcome="answered"\} (\d+)$/m.exec(
    ofApi!,
  )!
  expect(Number(count)).toBeGreaterThan(0)
  expect(ofApi).toMatch(/^geospatial_attester_nonce\{chain="base-sepolia"\} 0$/m)
  expect(ofApi).toMatch(/^geospatial_database_connections\{server="[^"@]+",state="idle"\} \d+$/m)
})

test('the service writes the logs of all processes in one form', () => {
  const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal']
  for (const name of ['api', 'indexer-base-sepolia']) {
    const lines = world.services.get(name)!.tail().split('\n').filter(Boolean)
    expect(lines.length).toBeGreaterThan(0)
    for (const line of lines) {
      const { level, time, msg } = JSON.parse(line) as Record<string, unknown>
      expect([levels.includes(level as string), typeof time, typeof msg], line).toEqual([
        true,
        'number',
        'string',
      ])
      expect(line.match(/"time":/g), line).toHaveLength(1)
    }
  }
})

test('the documentation covers every metric of the API', async () => {
  const [ofApi] = await both()
  const text = ['monitoring', 'log'].map((page) => readFileSync(`docs/operations/${page}.md`, 'utf8')).join()
  const names = [...ofApi!.matchAll(/^# TYPE (geospatial_\w+)/gm)].map(([, name]) => name!)
  expect(names.length).toBeGreaterThan(15)
  const documented = (name: string) =>
    text.includes(name) || (/_(?:chain|audit)(_\w+)$/.test(name) && text.includes(`\`${RegExp.$1}\``))
  expect(names.filter((name) => !documented(name))).toEqual([])
})

const hasPromtool = spawnSync('promtool', ['--version']).status === 0
needing(hasPromtool ? [] : ['prometheus']).describe('promtool', () => {
  const promtool = (...given: string[]) => {
    const { status, stdout, stderr } = spawnSync('promtool', given, { encoding: 'utf8' })
    expect(status, stdout + stderr).toBe(0)
  }
  test('accepts the configuration and the rules, and fires each alert as expected', () => {
    promtool('check', 'config', 'ops/prometheus/prometheus.yml')
    promtool('test', 'rules', 'ops/prometheus/alerts.test.yml')
    const { tests } = parse(readFileSync('ops/prometheus/alerts.test.yml', 'utf8')) as {
      tests: { promql_expr_test: { exp_samples: { value: number }[] }[] }[]
    }
    expect(tests[1]!.promql_expr_test[0]!.exp_samples[0]!.value).toBe(rules.length)
    for (const { annotations } of rules) expect(Object.keys(annotations)).toEqual(['summary', 'action'])
  })
  test('accepts every query of the dashboards', () => {
    const folder = temporaryFolder()
    const record = queries.map(([, expr], i) => ({
      record: `query_${i}`,
      expr: expr.replaceAll('$__rate_interval', '1m'),
    }))
    writeFileSync(
      path.join(folder, 'queries.yml'),
      JSON.stringify({ groups: [{ name: 'queries', rules: record }] }),
    )
    promtool('check', 'rules', path.join(folder, 'queries.yml'))
  })
})
