import { AbiCoder, ParamType, ZeroAddress, zeroPadValue } from 'ethers'
import { expect, test } from 'vitest'
import { attest, registerSchema, request } from '../dev/chain'
import { events } from '../src/abi/EAS'
import { schemaUid } from '../src/eas'
import { audit } from './behind'
import {
  asProcess,
  finalize,
  inFaultyWorld,
  indexer,
  kill,
  place,
  query,
  records,
  restart,
  until,
  world,
} from './faulty'
import { inOneBlock, mine, reorg } from './world'
import { hunt } from './seed'
import type { Fault } from './rpc-proxy'

/** Tests schemas that are registered while indexers end, chains reorganize and endpoints lie. */
inFaultyWorld()

let made = 0
const fieldsOf = (name: string) => `string srs,string location_type,string location,uint64 ${name}${made++}`
const register = (fields: string) => registerSchema(world.chain, fields)
const payload = (fields: string) =>
  AbiCoder.defaultAbiCoder().encode(ParamType.from(`tuple(${fields})`).components!, [
    ...['EPSG:4326', 'wkt', 'POINT(13.4 52.5)'],
    made,
  ])
const attestBy = async (fields: string, account?: number) =>
  attest(world.chain, request(schemaUid(fields, ZeroAddress, true), payload(fields)), account)
/** An endpoint that omits the registration of this schema. */
const hidden =
  (schema: string): Fault =>
  ({ method, params }) =>
    method === 'eth_getLogs'
      ? {
          ask: async (ask) =>
            ((await ask(method, params)) as { topics: string[] }[]).filter(
              ({ topics }) => topics[1] !== schema,
            ),
        }
      : undefined
const valid = (uids: readonly string[]) => uids.map(() => 'valid')
const status = async () =>
  (
    await query<{ doubt: string | null; contradictions: string; repaired: string }>(
      'SELECT doubt, contradictions, repaired_events AS repaired FROM chain_status',
    )
  )[0]!

test('the indexer reads the history of each schema since its registration, in order', async () => {
  await indexer.stop()
  const uids: string[] = []
  for (const name of ['one', 'two', 'three']) {
    const fields = fieldsOf(name)
    await register(fields)
    uids.push(await attestBy(fields), await attest(world.chain, place()), await attestBy(fields))
    await mine(world.chain, 20)
  }
  await mine(world.chain, world.chain.chain.finality + 3)
  const fields = fieldsOf('hot')
  await register(fields)
  uids.push(await attestBy(fields))
  restart()
  await world.caughtUp()
  expect(await records(uids)).toEqual(valid(uids))
  await finalize()
  // The audit repaired nothing.
  expect(await status()).toMatchObject({ repaired: '0', doubt: null })
})

test('the indexer audits the history of a schema that the settings allow later', async () => {
  await indexer.stop()
  restart([], { LOCATION_SCHEMAS: '-*' })
  const fields = fieldsOf('late')
  await register(fields)
  const uids = [await attestBy(fields)]
  await finalize()
  uids.push(await attestBy(fields))
  await world.caughtUp()
  expect(await records(uids)).toEqual(['missing', 'missing'])
  await indexer.stop()
  const before = await status()
  restart([], { AUDIT_CALLS_PER_SECOND: '10000' })
  uids.push(await attestBy(fields))
  await finalize()
  await until(async () => String(await records(uids)) === String(valid(uids)))
  expect((await status()).contradictions).toBe(before.contradictions)
  expect(indexer.log()).not.toContain('an RPC endpoint had returned incorrect logs')
  await indexer.stop()
  restart()
  await world.caughtUp()
})

test('the indexer omits an excluded schema, and reads the schema after it is allowed again', async () => {
  const fields = fieldsOf('excluded')
  const schema = schemaUid(fields, ZeroAddress, true)
  await indexer.stop()
  restart([], { LOCATION_SCHEMAS: `-${schema}` })
  await register(fields)
  const uids = [await attestBy(fields)]
  await world.caughtUp()
  expect(await records(uids)).toEqual(['missing'])
  expect(await query('SELECT watched FROM location_schema WHERE uid = $1', [schema])).toEqual([
    { watched: false },
  ])
  await indexer.stop()
  restart([], { AUDIT_CALLS_PER_SECOND: '10000' })
  await finalize()
  await until(async () => String(await records(uids)) === 'valid')
  await indexer.stop()
  restart()
  await world.caughtUp()
})

test('the indexer follows a reorg that drops a registration, and another registration', async () => {
  const { chain, caughtUp } = world
  const before = (await chain.provider.send('evm_snapshot', [])) as string
  const fields = fieldsOf('again')
  await register(fields)
  const dropped = await attestBy(fields)
  await caughtUp()
  expect(await records([dropped])).toEqual(['valid'])
  await chain.provider.send('evm_revert', [before])
  await mine(chain, 1)
  await register(fields)
  // By another account: one with the same content in a block with the same time would have the same UID.
  const kept = await attestBy(fields, 1)
  await caughtUp()
  expect(await records([dropped, kept])).toEqual(['missing', 'valid'])
})

test('the indexer audits a registration that an endpoint omits, with the attestations under it', async () => {
  const fields = fieldsOf('hidden')
  const schema = schemaUid(fields, ZeroAddress, true)
  const hides = hidden(schema)
  await indexer.stop()
  await register(fields)
  const uids = [await attestBy(fields), await attestBy(fields)]
  await mine(world.chain, world.chain.chain.finality + 3)
  restart([hides])
  await world.caughtUp()
  expect(await records(uids)).toEqual(['missing', 'missing'])
  await indexer.stop()
  restart([], { AUDIT_CALLS_PER_SECOND: '10000' })
  await finalize()
  await until(async () => String(await records(uids)) === String(valid(uids)))
  await indexer.stop()
  restart()
  await world.caughtUp()
})

test('the indexer completes the findings of a concurrent npm run audit after its next start', async () => {
  const fields = fieldsOf('beside')
  const hides = hidden(schemaUid(fields, ZeroAddress, true))
  await indexer.stop()
  await register(fields)
  const uids = [await attestBy(fields)]
  await mine(world.chain, world.chain.chain.finality + 3)
  restart([hides])
  await world.caughtUp()
  // The command queries the node itself; the indexer continues without the registration.
  expect((await audit(world, world.chain.url)).code).toBe(1)
  expect(await records(uids)).toEqual(['valid'])
  uids.push(await attestBy(fields))
  await finalize()
  await indexer.stop()
  restart([], { AUDIT_CALLS_PER_SECOND: '10000' })
  await until(async () => String(await records(uids)) === String(valid(uids)))
  await indexer.stop()
  restart()
  await world.caughtUp()
})

hunt(
  'the indexer loses no event with registrations, kills and reorgs in random order',
  4,
  async ({ random, cases }) => {
    await asProcess()
    const { chain, caughtUp } = world
    const from = await chain.provider.getBlockNumber()
    const known: string[] = []
    for (let step = 0; step < cases; step++) {
      const choice = random()
      if (choice < 0.3 || known.length === 0) {
        const fields = fieldsOf('random')
        if (random() < 0.5) {
          const [registry, eas] = [await chain.registry(), await chain.eas()]
          const made = request(schemaUid(fields, ZeroAddress, true), payload(fields))
          await inOneBlock(chain, [
            () => registry.getFunction('register').send(fields, ZeroAddress, true, { gasLimit: 3_000_000 }),
            () => eas.getFunction('attest').send(made, { gasLimit: 3_000_000 }),
          ])
        } else await register(fields)
        known.push(fields)
      } else if (choice < 0.65) await attestBy(known[Math.floor(random() * known.length)]!).catch(() => {})
      else if (choice < 0.75) await kill()
      else if (choice < 0.85) await mine(chain, 1 + Math.floor(random() * 20))
      else if (choice < 0.92) {
        // The node has no earlier states: it has loaded those blocks from a file.
        const mined = (await chain.provider.getBlockNumber()) - from
        await reorg(chain, Math.min(mined, 1 + Math.floor(random() * 3)))
      } else await caughtUp()
    }
    await mine(chain, 1)
    await caughtUp()
    // UIDs on the chain, by its own logs.
    const uids = new Set<string>()
    for (const fields of known) {
      const topics = [
        events.Attested.topic,
        null,
        null,
        zeroPadValue(schemaUid(fields, ZeroAddress, true), 32),
      ]
      for (const { data } of await chain.provider.getLogs({
        ...{ address: chain.chain.eas, topics, fromBlock: chain.chain.firstBlock },
      }))
        uids.add(data)
    }
    if (cases >= 40) expect(uids.size).toBeGreaterThan(cases / 8)
    expect(await records([...uids])).toEqual(valid([...uids]))
  },
)
