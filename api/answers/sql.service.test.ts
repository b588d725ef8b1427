import { beforeAll, expect, test } from 'vitest'
import { startApi } from '../../test/api'
import { parseCsv } from '../../test/csv'
import { createMigratedDatabase, rows, type TestDatabase } from '../../test/database'
import { answersQuery, type AnswerQuery } from './sql'

/** Tests that a list of many answers reads an index, and only as much of it as its page needs. */

const COUNT = 50_000
const hex = (n: number, digits: number) => `0x${n.toString(16).padStart(digits, '0')}`
let database: TestDatabase
beforeAll(async () => {
  database = await createMigratedDatabase()
  // One answer per minute: 500 recipients, 1,000 inputs, one area in 100; two attesters, one of them rare.
  await rows(
    database.url,
    `INSERT INTO answer (id, uid, chain, attester, recipient, operation, result, units, value, input_refs, computed_at,
       timestamp, revoked, created_at, updated_at, schema_uid, ref_uid, revocable, expiration_time, block_number,
       block_hash, transaction_hash, log_index)
     SELECT 'celo-0x' || lpad(to_hex(i), 64, '0'), '0x' || lpad(to_hex(i), 64, '0'), 'celo',
       '0x' || lpad(CASE WHEN i % 500 = 0 THEN '1' ELSE '2' END, 40, '0'), '0x' || lpad(to_hex(i % 500), 40, '0'),
       CASE WHEN i % 100 = 0 THEN 'area' WHEN i % 2 = 0 THEN 'distance' ELSE 'within:' || i END, to_jsonb(i), 'meters', i * 100,
       ARRAY['0x' || lpad(to_hex(i % 1000), 64, '0'), '0x' || lpad('f', 64, '0')], now(),
       timestamptz '2026-01-01' + i * interval '1 minute', i % 7 = 0, now(), now(), '0x', '0x', true, 0, i, '0x', '0x', 0
     FROM generate_series(1, ${COUNT}) AS i`,
  )
  await rows(database.url, 'ANALYZE answer')
})

interface Plan {
  'Node Type': string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Index Name'?: string
  Plans?: Plan[]
}

test.each<[string, Omit<AnswerQuery, 'limit'>, string]>([
  ['all', {}, 'IDX_2899e5cac33e94a4beddb02e37'],
  ['all, oldest first', { ascending: true }, 'IDX_2899e5cac33e94a4beddb02e37'],
  [
    'the next page',
    { from: { at: Date.UTC(2026, 0, 20), id: `celo-${hex(9, 64)}` } },
    'IDX_2899e5cac33e94a4beddb02e37',
  ],
  ['a rare attester', { attester: hex(1, 40) }, 'IDX_adf54581a2dc9d632e0e4aecdc'],
  ['a recipient', { recipient: hex(77, 40) }, 'IDX_9180eeb78bebafab04e7b84f48'],
  ['a rare operation', { operation: 'area' }, 'answer_operation'],
  ['an operation with a number', { operation: 'within:501' }, 'IDX_897f9dd6633b9e75de1690d7c4'],
  ['an input', { input: hex(77, 64) }, 'answer_inputs'],
  ['an answer', { ids: [`celo-${hex(77, 64)}`] }, 'PK_9232db17b63fb1e94f97e5c224f'],
])('the query for %s reads an index', async (_name, query, index) => {
  const { text, values } = answersQuery({ ...query, limit: 100 })
  const [explained] = await rows<{ 'QUERY PLAN': { Plan: Plan }[] }>(
    database.url,
    `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
    values,
  )
  const nodes = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)]
  const plans = nodes(explained!['QUERY PLAN'][0]!.Plan)
  expect(plans.map((plan) => plan['Index Name'])).toContain(index)
  expect(plans.filter((plan) => plan['Node Type'] === 'Seq Scan')).toEqual([])
  const read = plans.map(
    (plan) => plan['Actual Loops'] * (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)),
  )
  expect(Math.max(...read)).toBeLessThanOrEqual(1_000)
})

test(
  'an export has all matching answers in the order of the list, up to the limit',
  { tags: ['slow'] },
  async () => {
    const api = await startApi({ databaseUrl: database.url })
    // The first 5,000 answers: an export reads 1,000 at once.
    const ask = async (query: string, init?: RequestInit) =>
      fetch(`${api.url}/api/v0/answers?toTimestamp=2026-01-04T11:20:30Z&${query}`, init)
    const { data, next_cursor } = (await (await ask('limit=3')).json()) as {
      data: Record<string, unknown>[]
      next_cursor: string
    }
    const whole = await ask('format=ndjson')
    expect(whole.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8')
    expect(whole.headers.get('content-disposition')).toBe('attachment; filename="answers.ndjson"')
    const lines = (await whole.text()).trimEnd().split('\n')
    const answers = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(answers.slice(0, 3)).toEqual(data)
    expect(answers.map(({ block_number }) => block_number)).toEqual(
      Array.from({ length: 5_000 }, (_, i) => 5_000 - i),
    )
    const few = await (await ask(`format=csv&limit=2&sort=timestamp&operation=area`)).text()
    const [header, ...cells] = parseCsv(few)
    expect(header).toEqual(Object.keys(data[0]!))
    expect(cells.map((row) => row[header!.indexOf('operation')])).toEqual(['area', 'area'])
    expect(JSON.parse(cells[0]![header!.indexOf('input_refs')]!)).toEqual([hex(100, 64), hex(15, 64)])
    const accepted = await ask(`cursor=${next_cursor}&limit=1001`, {
      headers: { accept: 'application/x-ndjson' },
    })
    expect((await accepted.text()).trimEnd().split('\n')).toEqual(lines.slice(3, 1_004))
    expect((await ask('format=csv', { method: 'HEAD' })).headers.get('content-type')).toContain('text/csv')
    expect((await ask('format=geojson')).status).toBe(400)
  },
)
