import { beforeAll, expect, test } from 'vitest'
import { attest, locationRequest, revoke } from '../../dev/chain'
import { blankSettings } from '../../dev/settings'
import { command as run } from '../../test/behind'
import { rows } from '../../test/database'
import { expectCounts, expectInvariants } from '../../test/invariants'
import { runNode } from '../../test/node'
import { LOCAL_CHAIN, mine, startTestWorld, type TestWorld } from '../../test/world'
import { LOCATION_SCHEMA } from '../location'

/**
 * Tests the operator's tools: `npm run replay`, `npm run audit`, /ready, /metrics. The continuous audit is
 * off, so that it does not repair what the commands should find. test/snapshot.service.test.ts tests `npm run
 * snapshot` and `npm run restore`.
 */
let world: TestWorld
let uids: string[]
beforeAll(async () => {
  world = await startTestWorld({ AUDIT_CALLS_PER_SECOND: '0' })
  const { chain } = world
  uids = []
  for (let i = 0; i < 6; i++)
    uids.push(
      await attest(chain, locationRequest({ type: 'Point', coordinates: [i, 20] }, { memo: `place ${i}` })),
    )
  await revoke(chain, uids[5]!)
  await mine(chain, LOCAL_CHAIN.finality + 2)
  await world.caughtUp()
})

const sql = <Row extends object>(text: string, values?: unknown[]) =>
  rows<Row>(world.databaseUrl, text, values)
const status = async (uid: string) => (await world.get(`/api/v0/location-records/${uid}`)).status

const settings = () => ({ DATABASE_URL: world.databaseUrl, RPC_URL_BASE_SEPOLIA: world.chain.url })
const command = (...args: string[]) => run(settings(), ...args)

test('replay repairs records that differ from the log, or only reports them with --check', async () => {
  expect(await command('replay')).toEqual({
    code: 0,
    output: expect.stringContaining('base-sepolia: 6 attestations replayed, every record matches the log'),
  })
  await sql(`UPDATE location_record SET memo = 'changed' WHERE uid = $1`, [uids[0]])
  await sql('DELETE FROM location_record WHERE uid = $1', [uids[1]])
  await sql('UPDATE location_record SET revoked = false, revocation_time = NULL WHERE uid = $1', [uids[5]])
  await sql(
    `INSERT INTO location_record SELECT (jsonb_populate_record(NULL::location_record, to_jsonb(r) - ARRAY['geom', 'reach'] || jsonb_build_object('id', 'base-sepolia-' || $2::text, 'uid', $2::text))).*
     FROM location_record r WHERE uid = $1`,
    [uids[2], `0x${'e'.repeat(64)}`],
  )
  const checked = await command('replay', '--check')
  expect(checked.code).toBe(1)
  for (const line of [
    `${uids[0]}: different`,
    `${uids[1]}: missing`,
    `${uids[5]}: different`,
    `0x${'e'.repeat(64)}: surplus`,
    '4 records differed from the log',
  ])
    expect(checked.output).toContain(line)
  expect(await status(uids[1]!)).toBe(404)

  expect((await command('replay', '--chain', 'base-sepolia')).output).toContain(
    '4 records differed from the log and were repaired',
  )
  expect((await command('replay')).code).toBe(0)
  await expectInvariants(world)
})

test('replay counts and measures the records of a chain without an indexer, and skips a chain whose indexer runs', async () => {
  await sql(
    `INSERT INTO attestation_event SELECT (jsonb_populate_record(NULL::attestation_event, to_jsonb(e) || jsonb_build_object('id', replace(id, 'base-sepolia', 'celo'), 'chain', 'celo'))).* FROM attestation_event e WHERE chain = 'base-sepolia'`,
  )
  expect((await command('replay', '--chain', 'celo')).code).toBe(1)
  await sql(`UPDATE location_record SET memo = memo || '!' WHERE chain = 'celo'`)
  await sql(`DELETE FROM record_group WHERE chain = 'celo'`)
  await sql(`INSERT INTO record_uncounted VALUES ('celo', '-infinity')`)
  await sql(`UPDATE chain_status SET reading = 3`)
  const sums = '/api/v0/location-records/stats?by=chain&sum=area&chain=celo'
  expect((await world.get(sums)).status).toBe(503)
  expect((await command('replay')).code).toBe(1)
  expect(await sql('SELECT chain FROM record_uncounted')).toEqual([])
  await expectCounts(world.databaseUrl, 'celo')
  expect((await world.get(sums)).body).toMatchObject({ data: [{ chain: 'celo', records: 6 }] })
  expect(await sql('SELECT chain FROM chain_status WHERE reading > 3')).toEqual([{ chain: 'celo' }])
  await sql(`DELETE FROM location_record WHERE chain = 'celo'`)
  await sql(`DELETE FROM attestation_event WHERE chain = 'celo'`)
  await sql(`DELETE FROM chain_status WHERE chain = 'celo'`)
})

test('audit repairs a log that lacks an event, or has an event that the chain lacks', async () => {
  const { finality, firstBlock } = LOCAL_CHAIN
  const head = await world.chain.provider.getBlockNumber()
  expect(await command('audit', '--chain', 'base-sepolia')).toEqual({
    code: 0,
    output: expect.stringContaining(
      `base-sepolia, blocks ${firstBlock} to ${head - finality}: the chain has 7 indexed events; the log matches`,
    ),
  })
  // Changes the database as if the endpoint had omitted an attestation (all of its block) and a revocation,
  // and had invented another revocation.
  await sql('DELETE FROM attestation_event WHERE uid = $1', [uids[3]])
  await sql('DELETE FROM location_record WHERE uid = $1', [uids[3]])
  await sql(`DELETE FROM attestation_event WHERE uid = $1 AND kind = 'REVOKED'`, [uids[5]])
  await sql('UPDATE location_record SET revoked = false, revocation_time = NULL WHERE uid = $1', [uids[5]])
  await sql(
    `INSERT INTO attestation_event SELECT (jsonb_populate_record(NULL::attestation_event, to_jsonb(e) || jsonb_build_object('id', regexp_replace(id, '.$', '7'), 'log_index', 7, 'kind', 'REVOKED',
       'ref_uid', NULL, 'time', NULL, 'expiration_time', NULL, 'revocable', NULL, 'data', NULL))).* FROM attestation_event e WHERE uid = $1`,
    [uids[4]],
  )
  await sql('UPDATE location_record SET revoked = true WHERE uid = $1', [uids[4]])

  const quick = await command('audit', '--chain', 'base-sepolia', '--quick')
  expect([quick.code, await status(uids[3]!)]).toEqual([1, 200])
  expect(quick.output).toContain('2 differed in the log and were repaired')
  // Only receipts prove that an event does not exist.
  const proof = await command('audit', '--chain', 'base-sepolia')
  expect([proof.code, proof.output]).toEqual([
    1,
    expect.stringContaining('1 differed in the log and were repaired'),
  ])
  expect((await command('audit', '--chain', 'base-sepolia')).code).toBe(0)
  await expectInvariants(world)
  const [counted] = await sql<{ repaired: number; proven: boolean }>(
    `SELECT repaired_events::int AS repaired, proven @> int8range($1, $2, '[]') AS proven FROM chain_status`,
    [firstBlock, head - finality],
  )
  expect(counted).toEqual({ repaired: 3, proven: true })
})

test('audit repairs an event that differs from the event at the same position on the chain', async () => {
  await sql(`UPDATE attestation_event SET uid = $2 WHERE uid = $1 AND kind = 'REVOKED'`, [uids[5], uids[0]])
  await sql('UPDATE location_record SET revoked = true WHERE uid = $1', [uids[0]])
  await sql('UPDATE attestation_event SET attester = $2 WHERE uid = $1', [uids[1], `0x${'d'.repeat(40)}`])
  await sql('UPDATE location_record SET prover = $2 WHERE uid = $1', [uids[1], `0x${'d'.repeat(40)}`])
  await sql(
    `UPDATE attestation_event SET block_timestamp = block_timestamp + interval '1 day' WHERE uid = $1`,
    [uids[2]],
  )
  expect(await command('audit', '--chain', 'base-sepolia')).toEqual({
    code: 1,
    output: expect.stringContaining('3 differed in the log and were repaired'),
  })
  expect((await command('audit', '--chain', 'base-sepolia')).code).toBe(0)
  await expectInvariants(world)
})

test('audit leaves events of a schema unchanged that the settings no longer name', async () => {
  const schema = `0x${'5'.repeat(64)}`
  await sql('UPDATE attestation_event SET schema_uid = $2 WHERE uid = $1', [uids[0], schema])
  await sql('UPDATE location_record SET schema_uid = $2 WHERE uid = $1', [uids[0], schema])
  expect((await command('replay')).output).toContain(
    'base-sepolia: 5 attestations replayed, every record matches the log',
  )
  await sql('UPDATE attestation_event SET schema_uid = $2 WHERE uid = $1', [uids[0], LOCATION_SCHEMA.uid])
  await sql('UPDATE location_record SET schema_uid = $2 WHERE uid = $1', [uids[0], LOCATION_SCHEMA.uid])
  await expectInvariants(world)
})

test('audit delays a repair while later events of its record are not final', async () => {
  const { chain } = world
  await sql('DELETE FROM attestation_event WHERE uid = $1', [uids[2]])
  await sql('DELETE FROM location_record WHERE uid = $1', [uids[2]])
  await revoke(chain, uids[2]!)
  await world.caughtUp()
  expect(await command('audit', '--chain', 'base-sepolia')).toEqual({
    code: 2,
    output: expect.stringContaining('has events in blocks that are not final yet'),
  })
  expect(await status(uids[2]!)).toBe(404)
  await mine(chain, LOCAL_CHAIN.finality + 2)
  await world.caughtUp()
  expect((await command('audit', '--chain', 'base-sepolia')).code).toBe(1)
  expect((await world.get(`/api/v0/location-records/${uids[2]}`)).body.revoked).toBe(true)
  await expectInvariants(world)
})

test.each<[string[], string]>([
  [['audit'], 'is all there is'],
  [['audit', '--chain', 'celo'], 'Name a chain, one of: base-sepolia'],
  [['audit', '--chain', 'base-sepolia', '--from', 'x'], '--from must be a block number'],
  [
    ['audit', '--chain', 'base-sepolia', '--to', '999999999'],
    'cannot be audited. The indexed and final blocks',
  ],
])('the command %s is rejected with the expected form', async (args, message) => {
  // If only one chain is connected, audit does not need --chain.
  if (message === 'is all there is') return expect((await command(...args)).code).toBe(0)
  expect(await command(...args)).toEqual({ code: 2, output: expect.stringContaining(message) })
})

test(
  'the process of a command prints what it found, and exits with its status',
  { tags: ['slow'] },
  async () => {
    const start = (...args: string[]) =>
      runNode(['lib/indexer/commands.js', ...args], { ...process.env, ...blankSettings(), ...settings() })
    expect(await start('audit', '--chain', 'base-sepolia', '--quick')).toEqual({
      code: 0,
      output: expect.stringContaining('; the log matches'),
    })
    await sql(`UPDATE location_record SET memo = 'changed' WHERE uid = $1`, [uids[0]])
    expect(await start('replay')).toEqual({
      code: 1,
      output: expect.stringContaining('1 records differed from the log and were repaired'),
    })
    expect(await start('rewind')).toEqual({ code: 2, output: expect.stringContaining(`got 'rewind'`) })
  },
)

test('/ready and /metrics report the progress of each chain', async () => {
  const { chain } = world
  await world.caughtUp()
  const { number: head, timestamp } = (await chain.provider.getBlock('latest'))!
  const time = new Date(timestamp * 1000).toISOString()
  await expect.poll(async () => (await world.get('/ready')).status).toBe(200)
  await expect
    .poll(async () => (await world.get('/ready')).body)
    .toEqual({
      ...{ status: 'ready', database: 'connected', signer: { status: 'ready' }, log: { status: 'ready' } },
      chains: {
        'base-sepolia': {
          status: 'ready',
          head_block: head,
          indexed_block: head,
          lag_blocks: 0,
          lag_seconds: expect.any(Number),
          head_time: time,
          indexed_time: time,
          fresh: true,
          doubt: null,
          withheld_attestations: 0,
          location_schemas: 0,
          schema_history_blocks: 0,
          proxy: { address: world.chain.proxy, status: 'ready' },
        },
      },
    })
  const text = await (await fetch(`${world.url}/metrics`)).text()
  for (const line of [
    `geospatial_chain_head_block{chain="base-sepolia"} ${head}`,
    `geospatial_chain_indexed_block{chain="base-sepolia"} ${head}`,
    'geospatial_chain_ready{chain="base-sepolia"} 1',
    'geospatial_audit_repaired_events{chain="base-sepolia"} 7',
    'geospatial_database_up 1',
    '# TYPE http_request_duration_seconds histogram',
    'process_resident_memory_bytes',
  ])
    expect(text).toContain(line)
  expect(text).toMatch(
    /http_request_duration_seconds_count\{method="GET",route="\/api\/v0\/location-records\/:uid",status="200"\} \d/,
  )
})

test.each(['/metrics/', '/%6detrics', '/metrics/?a=1', '/metric%73'])(
  'the service returns 404 for %s, which a proxy that blocks /metrics would pass',
  async (path) => {
    const answer = await fetch(world.url + path)
    expect([answer.status, await answer.json()]).toEqual([404, expect.objectContaining({ status: 'error' })])
  },
)
