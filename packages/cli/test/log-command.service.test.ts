// SPDX-License-Identifier: MIT
import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { checkSigned, createGeo, type Answer } from '@geospatial-attestation/client'
import { domainSeparator } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { attest, locationRequest, request, testAccount } from '../../../dev/chain'
import { encodeNumericResult } from '../../../src/eas'
import { ATTEST_FIELDS } from '../../../src/eas/layouts'
import {
  encodeEntry,
  formatNote,
  formatVerifierKey,
  signNote,
  type Entry,
  type SignerKey,
} from '../../../src/tlog'
import { serve } from '../../../test/http-server'
import { answers, startReceiver, type Receiver } from '../../../test/receiver'
import { GATE, TOWER } from '../../../test/positions'
import { faults, startRpcProxy } from '../../../test/rpc-proxy'
import { MemoryLog, seededKey } from '../../../test/tlog'
import { mine, startTestWorld, type TestWorld } from '../../../test/world'
import { openShell, type Shell } from './geo'

/** Tests `geo log` with a log in memory that has answers of the running service, and with its chain. */
let world: TestWorld
let shell: Shell
let receiver: Receiver
let witness: SignerKey
let places: string[]
const ends: (() => Promise<void>)[] = []
beforeAll(async () => {
  world = await startTestWorld({ CHAINS: 'base-sepolia,sepolia' }, { present: true })
  shell = openShell(world)
  receiver = await startReceiver(() => answers.ok)
  witness = await seededKey('w.example', 'cosignature', 9)
  places = [
    await attest(world.chain, locationRequest(GATE)),
    await attest(world.chain, locationRequest(TOWER)),
  ]
  await world.caughtUp()
})
afterEach(async () => {
  vi.useRealTimers()
  for (const end of ends.splice(0)) await end()
  receiver.received.length = 0
})
afterAll(() => receiver?.close())

const geo = () => createGeo({ url: world.url, chain: 'base-sepolia' })
/** Entry of an answer, as the service writes it. */
async function entryOf(answer: Answer): Promise<Entry> {
  const { domain, proxy, attester } = await geo().chain(answer.chainId)
  const contract = answer.delegatedAttestation.submission === 'proxy' ? proxy!.domain : domain
  const { layout } = await checkSigned(answer, contract as never, attester)
  const { schema, recipient, expirationTime, revocable, refUID, signature, data } = answer.attestation
  const { nonce = 0, deadline } = answer.delegatedAttestation
  return {
    ...{ kind: 'answer', time: Math.floor(Date.now() / 1000), chainId: answer.chainId, layout },
    ...{ attester: attester.toLowerCase(), separator: domainSeparator({ domain: contract as never }) },
    ...{ schema, expirationTime, revocable, refUID, nonce, deadline, signature, data },
    recipient: recipient.toLowerCase(),
  }
}

const anEntry = async () => entryOf(await geo().distance([2.2945, 48.8584], [13.3777, 52.5163]))
/** An answer that lands through the proxy. */
const asked = (latitude: number) =>
  geo().distance([2.2945, latitude], [13.3777, 52.5163], { submission: 'proxy' })
async function land(answer: Answer): Promise<void> {
  shell.write('landed.json', answer)
  const { code, stderr } = await shell.geo(['land', 'landed.json', '--key-file', 'key.txt', '-q'])
  expect([code, stderr]).toEqual([0, ''])
}
/** Options of a monitor that compares later attestations of a chain. */
const fromHere = async () => [
  ...['--chain', 'base-sepolia', '--from-block'],
  String((await world.chain.provider.getBlockNumber()) + 1),
]
const muchLater = () => vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 600_000 })

/** A log with its own name and the policy of a monitor, whose URL is that of the log. */
async function startLog(name: string) {
  // A monitor starts at the newest block, which then has no answer of an earlier test.
  await mine(world.chain, 1)
  const log = new MemoryLog(await seededKey(`${name}.example/log/v0`, 'ed25519', 1))
  const { url, stop } = await log.serve()
  ends.push(stop)
  const policy = `log ${formatVerifierKey(log.key)} ${url}\nquorum none\n`
  shell.write(`${name}.policy`, policy)
  const env: Record<string, string> = {}
  const monitor = async (...more: string[]) => {
    const state = ['--log-policy', `${name}.policy`, '--state', `${name}.json`]
    const { code, stdout, stderr } = await shell.geo(
      [
        ...['log', 'monitor', '--once', '--json', '-q', ...state, '--metrics', `${name}.prom`],
        ...['--webhook', receiver.url, ...more],
      ],
      { env },
    )
    const alarms = stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as { kind: string; evidence: string[] })
    return { code, stderr, alarms, kinds: alarms.map(({ kind }) => kind) }
  }
  const metrics = () => readFileSync(path.join(shell.folder, `${name}.prom`), 'utf8')
  return { log, monitor, metrics, policy, env }
}
const calm = { code: 0, stderr: '', kinds: [] }

test('geo log recomputes every entry whose inputs are on a chain, without an alarm', async () => {
  const { log, monitor, metrics } = await startLog('calm')
  const attested = await answerOfAttested()
  const raw = await geo().distance([2.2945, 48.8584], [13.3777, 52.5163])
  await log
    .append(...(await Promise.all([attested, raw].map(async (each) => encodeEntry(await entryOf(each))))))
    .sign()
  expect(await monitor()).toMatchObject(calm)
  expect(metrics()).toContain('geo_log_monitor_entries_total{result="equal"} 1\n')
  expect(metrics()).toContain('geo_log_monitor_entries_total{result="unresolved"} 1\n')
  expect(metrics()).toMatch(/^geo_log_monitor_size 2$/m)
  expect(metrics()).toMatch(/^geo_log_monitor_last_success_seconds \d{10}$/m)
  // The state file records which entries were read.
  expect(await monitor()).toMatchObject(calm)
  expect(metrics()).not.toContain('geo_log_monitor_entries_total{')
  await log.append(encodeEntry(await entryOf(attested))).sign()
  expect(await monitor()).toMatchObject(calm)
  expect(metrics()).toContain('geo_log_monitor_entries_total{result="equal"} 1\n')
  expect(receiver.received).toEqual([])
})

/** Entry whose result is a centimetre more than that of an answer, signed by a test account. */
async function lieAbout(answer: Answer & { result: number }, account: number): Promise<Entry> {
  const honest = await entryOf(answer)
  const { timestamp, operation, inputRefs } = answer
  const centimeters = BigInt(Math.round(answer.result * 100) + 1)
  const data = encodeNumericResult(centimeters, 'centimeters', { timestamp, operation, inputRefs })
  const signer = privateKeyToAccount(testAccount(account).privateKey as `0x${string}`)
  const attester = signer.address.toLowerCase()
  const { domain } = await geo().chain(answer.chainId)
  const message = { ...honest, data, value: 0, attester }
  const signature = await signer.signTypedData({
    ...{ domain, types: { Attest: ATTEST_FIELDS[honest.layout as 'v1'] }, primaryType: 'Attest', message },
  } as never)
  return { ...honest, signature, data, attester }
}
/** An answer about two attested places. */
const answerOfAttested = () => geo().distance(places[0]!, places[1]!)

test('geo log raises an alarm for an entry with a different result or signer', async () => {
  const { log, monitor, metrics } = await startLog('liar')
  const answer = await answerOfAttested()
  const honest = await entryOf(answer)
  const lie = await lieAbout(answer, 5)
  await log
    .append(
      encodeEntry(honest),
      encodeEntry(lie),
      encodeEntry({ ...lie, attester: honest.attester }),
      Buffer.from('no entry'),
    )
    .sign()
  const { code, kinds, alarms } = await monitor()
  expect([code, kinds.toSorted()]).toEqual([1, ['differs', 'entry', 'entry']])
  expect(receiver.received.map((message) => JSON.parse(message.body))).toEqual(alarms)
  expect(metrics()).toContain('geo_log_monitor_alarms_total{kind="differs"} 1\n')
  expect(metrics()).toContain('geo_log_monitor_entries_total{result="unreadable"} 2\n')
  // Each alarm is raised once.
  expect((await monitor()).kinds).toEqual([])
})

test('geo log raises an alarm for an attestation that the log does not have', async () => {
  const { log, monitor, metrics } = await startLog('secret')
  const from = await fromHere()
  const [logged, secret] = await Promise.all([48.1, 48.2].map(asked))
  for (const answer of [logged!, secret!]) await land(answer)
  const entry = await entryOf(logged!)
  // Both attestations are newer than the log's last entry.
  await log.append(encodeEntry({ ...entry, time: entry.time - 1_000_000 }), encodeEntry(entry)).sign()
  // The entry of the other attestation may still appear in the log,
  expect(await monitor(...from)).toMatchObject(calm)
  // but is overdue a minute after the monitor found the attestation.
  muchLater()
  const { code, kinds } = await monitor(...from)
  expect([code, kinds]).toEqual([1, ['unlogged']])
  expect(metrics()).toContain('geo_log_monitor_attestations_total{state="unlogged"} 1\n')
})

test('geo log raises an alarm for an attestation of a logged answer for another recipient', async () => {
  const { log, monitor } = await startLog('recipient')
  const from = await fromHere()
  // Both answers have the same payload if they are computed in the same second.
  const ask = () =>
    Promise.all(
      [2, 3].map((account) =>
        geo().distance([2.2945, 48.3], [13.3777, 52.5163], {
          ...{ submission: 'proxy', recipient: testAccount(account).address.toLowerCase() },
        }),
      ),
    )
  let [logged, secret] = await ask()
  while (logged!.attestation.data !== secret!.attestation.data) [logged, secret] = await ask()
  await land(secret!)
  const entry = await entryOf(logged!)
  await log.append(encodeEntry({ ...entry, time: entry.time - 1_000_000 }), encodeEntry(entry)).sign()
  muchLater()
  const { code, kinds } = await monitor(...from)
  expect([code, kinds]).toEqual([1, ['unlogged']])
})

test('geo log raises an alarm with evidence for a log that forks', async () => {
  const started = await startLog('fork')
  const { log, monitor } = started
  const entry = await anEntry()
  const bytes = [1, 2, 3, 4].map((more) => encodeEntry({ ...entry, time: entry.time + more }))
  await log.append(...bytes.slice(0, 2)).sign()
  expect(await monitor()).toMatchObject(calm)
  const before = formatNote(log.note)
  const fork = log.copy([bytes[0]!])
  await fork.append(bytes[2]!).append(bytes[3]!).sign()
  const honest = log.read.bind(log)
  log.read = (file) => fork.read(file)
  const { code, kinds, alarms } = await monitor()
  expect([code, kinds, alarms[0]!.evidence]).toEqual([1, ['fork'], expect.arrayContaining([before])])
  log.read = honest
  await log.append(bytes[2]!).sign()
  expect((await monitor()).kinds).toEqual([])
  const smaller = log.copy([bytes[0]!])
  await smaller.sign()
  log.read = (file) => smaller.read(file)
  // A cache may serve an older checkpoint for a minute.
  expect((await whileWaiting(started, later)).kinds).toEqual(['rollback'])
})

test('geo log requires the quorum, and compares the log with the checkpoints of witnesses', async () => {
  const started = await startWitnessed('quorum', 'w')
  const { log, monitor, seen, cosign } = started
  const entry = await anEntry()
  const bytes = [1, 2, 3].map((more) => encodeEntry({ ...entry, time: entry.time + more }))
  await log.append(bytes[0]!).sign()
  seen.note = log.note
  // A slow witness cosigns a published checkpoint up to a minute later.
  expect((await whileWaiting(started, later)).kinds).toEqual(['quorum'])
  vi.useRealTimers()
  await log.append().sign()
  expect(await whileWaiting(started, () => cosign(log))).toMatchObject(calm)
  seen.note = log.note
  expect(await monitor()).toMatchObject(calm)
  // The witness saw a larger tree than the log shows, which may publish it until a minute later.
  const other = log.copy()
  await other.append(bytes[1]!).sign()
  await cosign(other)
  seen.note = other.note
  const publish = async () => {
    await log.append(bytes[1]!).sign()
    await cosign(log)
  }
  expect(await whileWaiting(started, publish)).toMatchObject(calm)
  const third = log.copy()
  await third.append(bytes[2]!).sign()
  await cosign(third)
  seen.note = third.note
  expect((await whileWaiting(started, later)).kinds).toEqual(['rollback'])
  await log.append(bytes[0]!).sign()
  await cosign(log)
  expect((await monitor()).kinds).toEqual(['fork'])
})

/** Starts a monitor, and acts once it has read the log at least twice. */
async function whileWaiting({ log, monitor }: Awaited<ReturnType<typeof startLog>>, act: () => unknown) {
  const read = log.read.bind(log)
  let reads = 0
  const twice = new Promise<void>((resolve) => {
    log.read = (file) => {
      if (file === 'checkpoint' && ++reads === 3) resolve()
      return read(file)
    }
  })
  const running = monitor('--every', '0.01')
  await Promise.race([twice, running])
  await act()
  return running
}
/** Time after which a fault that may pass is an alarm. */
const later = () => vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 })

/** A log with the policy of a witness, which serves its checkpoint and cosigns trees on demand. */
async function startWitnessed(name: string, quorum: 'w' | 'none') {
  const started = await startLog(name)
  const { log, policy } = started
  const seen = log.copy()
  const server = await seen.serve()
  ends.push(server.stop)
  seen.read = (file) =>
    file === `${encodeURIComponent(log.key.name)}/checkpoint` ? Buffer.from(formatNote(seen.note)) : undefined
  shell.write(
    `${name}.policy`,
    `${policy.replace('quorum none\n', '')}witness w ${formatVerifierKey(witness)} ${server.url}\nquorum ${quorum}\n`,
  )
  const cosign = async (each: MemoryLog) =>
    each.note.signatures.push(await signNote(each.note.text, witness, Math.floor(Date.now() / 1000)))
  return { ...started, seen, cosign }
}

test('geo log raises an alarm for a tree that a log hides while its checkpoint alternates', async () => {
  const { log, monitor, seen, cosign } = await startWitnessed('hidden', 'w')
  await log.append().sign()
  const weak = structuredClone(log.note)
  await cosign(log)
  const strong = log.note
  seen.note = strong
  expect(await monitor()).toMatchObject(calm)
  const other = log.copy()
  await other.append(Buffer.from('hidden')).sign()
  await cosign(other)
  seen.note = other.note
  // Only the first checkpoint that each read requests has the quorum: a witness is asked between both.
  const [read, cosigned] = [log.read.bind(log), seen.read.bind(seen)]
  let [isFirst, isAsked, reads] = [true, false, 0]
  seen.read = (file) => ((isAsked = true), cosigned(file))
  log.read = (file) => {
    if (file !== 'checkpoint') return read(file)
    log.note = isFirst ? strong : weak
    if (isFirst && ++reads === 2) later()
    ;[isFirst, isAsked] = [isAsked, false]
    return read(file)
  }
  expect((await monitor('--every', '0.01')).kinds).toEqual(['rollback'])
})

test(
  'geo log compares attestations although a witness is ahead of the growing log at each read',
  { tags: ['slow'] },
  async () => {
    const { log, monitor, seen } = await startWitnessed('growing', 'none')
    const from = await fromHere()
    const entry = await anEntry()
    const trees: MemoryLog[] = []
    for (let size = 0; size < 20; size++) {
      trees[size] = log
        .copy(trees[size - 1]?.entries)
        .append(encodeEntry({ ...entry, time: entry.time + size }))
      await trees[size]!.sign()
    }
    // Faults of one second count as one, in which a pause permits a few reads.
    const every = ['--every', '0.2']
    // The log grows between two reads, each of which requests its checkpoint before and after the witness's.
    let [published, witnessed, requests] = [0, 0, 0]
    log.read = (file) => {
      if (file === 'checkpoint' && requests++ % 2 === 0) published = witnessed
      return trees[published]!.read(file)
    }
    const cosigned = seen.read.bind(seen)
    seen.read = (file) => {
      witnessed = Math.min(published + 1, trees.length - 1)
      seen.note = trees[witnessed]!.note
      return cosigned(file)
    }
    expect(await monitor(...from, ...every)).toMatchObject(calm)
    await land(await asked(48.6))
    muchLater()
    requests = 0
    expect((await monitor(...from, ...every)).kinds).toEqual(['unlogged'])
    // Both runs ended while the log was still growing.
    expect(published).toBeLessThan(trees.length - 1)
  },
)

test('geo log raises one alarm for a log without its quorum, and none for entries that it has not read', async () => {
  const started = await startWitnessed('weak', 'w')
  const { log, monitor, seen, cosign } = started
  await log.append().sign()
  await cosign(log)
  seen.note = log.note
  const from = await fromHere()
  expect(await monitor(...from)).toMatchObject(calm)
  await nextSecond()
  const answer = await asked(48.7)
  await land(answer)
  const entry = await entryOf(answer)
  await log.append(encodeEntry(entry)).sign()
  expect((await whileWaiting(started, later)).kinds).toEqual(['quorum'])
  await log.append(encodeEntry({ ...entry, time: entry.time + 1 })).sign()
  expect(await monitor()).toMatchObject({ code: 1, kinds: [] })
  await cosign(log)
  expect(await monitor()).toMatchObject(calm)
})

test(
  'geo log raises no alarm for a witness whose response is not a checkpoint of the log',
  { tags: ['slow'] },
  async () => {
    const { log, monitor, metrics, policy } = await startLog('garbage')
    let served: Buffer | undefined
    const url = await serve((_, response) => {
      if (served) return void response.end(served)
      // A response without an end.
      const page = Buffer.alloc(65_536, '1\n')
      const more = () => void response.write(page, () => response.destroyed || more())
      more()
    })
    shell.write('garbage.policy', `${policy}witness w ${formatVerifierKey(witness)} ${url}\n`)
    await log.append(encodeEntry(await anEntry())).sign()
    const note = formatNote(log.note)
    const impostor = new MemoryLog(await seededKey(log.key.name, 'ed25519', 2))
    await impostor.append(...log.entries).sign()
    for (const content of [
      ...['', '<html>', note.slice(0, -20), note.replace('\n1\n', '\n2\n'), formatNote(impostor.note)],
      undefined,
    ]) {
      served = content === undefined ? undefined : Buffer.from(content)
      const { code, kinds } = await monitor()
      expect([content, code, kinds]).toEqual([content, 0, []])
      expect(metrics()).toContain('geo_log_monitor_failures_total{part="witness"} 1\n')
    }
    // The response to `geo log proof` has no end either.
    expect((await shell.geo(['log', 'proof', 'a'.repeat(64), '--url', url])).code).toBe(4)
    // Anyone may have added a signature that is not valid to a checkpoint before the witness cosigned it.
    const forged = await signNote(`${log.note.text}x`, witness, 1)
    served = Buffer.from(formatNote({ ...log.note, signatures: [...log.note.signatures, forged] }))
    expect(await monitor()).toMatchObject(calm)
    expect(metrics()).not.toContain('failures_total{')
  },
)

test('geo log sends an alarm about the log while an RPC endpoint does not respond', async () => {
  const { log, monitor, metrics } = await startLog('dark')
  const entry = await anEntry()
  const bytes = [1, 2, 3].map((more) => encodeEntry({ ...entry, time: entry.time + more }))
  await log.append(bytes[0]!).sign()
  expect(await monitor()).toMatchObject(calm)
  const fork = log.copy([bytes[1]!])
  await fork.append(bytes[2]!).sign()
  log.read = (file) => fork.read(file)
  const closed = await startReceiver(() => answers.ok)
  closed.close()
  const { code, kinds } = await monitor('--chain', 'base-sepolia', '--rpc', closed.url)
  expect([code, kinds, receiver.received.length]).toEqual([1, ['fork'], 1])
  expect(metrics()).toMatch(/failures_total\{part="(chain|log)"\} 1\n/)
})

test('geo log compares witnesses although an entry cannot be checked, and checks it later', async () => {
  const { log, monitor, metrics, seen } = await startWitnessed('behind', 'none')
  const entry = await entryOf(await answerOfAttested())
  await log.append(encodeEntry(entry)).sign()
  await seen.append(encodeEntry({ ...entry, time: entry.time + 1 })).sign()
  const closed = await startReceiver(() => answers.ok)
  closed.close()
  const { code, kinds } = await monitor('--chain', 'base-sepolia', '--rpc', closed.url)
  expect([code, kinds]).toEqual([1, ['fork']])
  const state = JSON.parse(readFileSync(path.join(shell.folder, 'behind.json'), 'utf8')) as object
  expect(state).toMatchObject({ checkpoint: formatNote(log.note), checked: 0 })
  seen.note = log.note
  expect(await monitor()).toMatchObject(calm)
  expect(metrics()).toContain('geo_log_monitor_entries_total{result="equal"} 1\n')
})

test(
  'geo log compares a chain although the RPC endpoint of another one does not respond',
  { tags: ['slow'] },
  async () => {
    const { log, monitor, metrics, env } = await startLog('partly')
    const from = (await fromHere()).slice(2)
    await log.append().sign()
    await nextSecond()
    await land(await asked(48.9))
    const closed = await startReceiver(() => answers.ok)
    closed.close()
    const others = [...world.chains.keys()].filter((slug) => slug !== 'base-sepolia')
    for (const slug of others) env[`GEO_RPC_URL_${slug.toUpperCase().replaceAll('-', '_')}`] = closed.url
    shell.write('partly.json', { ...EMPTY, since: Math.floor(Date.now() / 1000) - 100 })
    muchLater()
    const { code, kinds } = await monitor(...from)
    expect([code, kinds, others.length > 0]).toEqual([1, ['unlogged'], true])
    const failures = [...metrics().matchAll(/failures_total\{part="(?:chain|log)"\} (\d+)/g)]
    expect(failures.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(others.length)
  },
)

/** State of a monitor that has read nothing. */
const EMPTY = {
  ...{ version: 3, blocks: {}, known: {}, contents: {}, unmatched: [], ahead: {}, raised: [], unsent: [] },
}

test('geo log forgets entries after 8 days, whichever time they have', async () => {
  const { log, monitor } = await startLog('forgetful')
  const entry = await anEntry()
  const contents = () =>
    Object.keys(
      (JSON.parse(readFileSync(path.join(shell.folder, 'forgetful.json'), 'utf8')) as { contents: object })
        .contents,
    ).length
  const past = { ...entry, expirationTime: 1, time: entry.time - 9 * 86_400 }
  await log.append(encodeEntry({ ...entry, time: 2 ** 50 }), encodeEntry(past)).sign()
  await monitor()
  expect(contents()).toBe(1)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 9 * 86_400_000 })
  await monitor()
  expect(contents()).toBe(0)
  const { ino } = statSync(path.join(shell.folder, 'forgetful.json'))
  await monitor()
  expect(statSync(path.join(shell.folder, 'forgetful.json')).ino).toBe(ino)
})

test('geo log raises an alarm for an attestation although the log is empty or its entries are dated later', async () => {
  const logs = await Promise.all(['empty', 'later'].map(startLog))
  const [empty, later] = logs as [(typeof logs)[0], (typeof logs)[0]]
  const entry = await anEntry()
  await empty.log.append().sign()
  await later.log.append(encodeEntry({ ...entry, time: 2 ** 50 })).sign()
  const from = await fromHere()
  for (const { monitor } of logs) expect(await monitor(...from)).toMatchObject(calm)
  await nextSecond()
  await land(await asked(48.4))
  muchLater()
  for (const { monitor } of logs) {
    const { code, kinds } = await monitor(...from)
    expect([code, kinds]).toEqual([1, ['unlogged']])
  }
})

test('geo log raises no alarm for an answer that was signed before the log and landed later', async () => {
  const { log, monitor } = await startLog('older')
  const from = await fromHere()
  const older = await asked(48.5)
  await nextSecond()
  const entry = await anEntry()
  await log.append(encodeEntry(entry)).sign()
  await land(older)
  muchLater()
  expect(await monitor(...from)).toMatchObject(calm)
})

/** Waits until the clock shows the next second. */
const nextSecond = () => new Promise((resolve) => setTimeout(resolve, 1_001 - (Date.now() % 1_000)))

test('geo log follows the log until Ctrl-C, serves metrics, and reports invalid usage', async () => {
  const { log } = await startLog('running')
  await log.append().sign()
  const options = ['log', 'monitor', '--log-policy', 'running.policy', '--every', '0']
  const running = shell.start([...options, '--metrics', '0'])
  await log.append(encodeEntry(await anEntry())).sign()
  await running.until('stderr', /1 entries/)
  running.interrupt()
  expect((await running.ended).code).toBe(130)
  shell.write('bad.policy', 'log x\n')
  shell.write('other.json', { ...EMPTY, version: 2 })
  for (const args of [
    ['log', 'monitor', 'x'],
    ['log', 'monitor', '--log-policy', 'bad.policy'],
    ['log', 'monitor', '--log-policy', 'no.policy'],
    ['log', 'monitor', '--log-policy', 'running.policy', '--state', 'tower.geojson'],
    ['log', 'monitor', '--log-policy', 'running.policy', '--state', 'other.json'],
    ['log', 'proof'],
    ['log', 'sing'],
  ])
    expect([args, (await shell.geo(args)).code]).toEqual([args, 2])
})

test('geo log recomputes a landed answer whose inputs were not on the chain when it was logged', async () => {
  const { log, monitor, env } = await startLog('early')
  const node = await startRpcProxy(world.chain.url, faults.bodiesUnknown)
  env.GEO_RPC_URL_BASE_SEPOLIA = node.url
  const from = await fromHere()
  const lie = await lieAbout(await answerOfAttested(), 9)
  await log.append(encodeEntry(lie)).sign()
  expect(await monitor(...from)).toMatchObject(calm)
  node.misbehave()
  const { schema, data, recipient, expirationTime } = lie
  await attest(world.chain, request(schema, data, { recipient, expirationTime }), 9)
  expect(await monitor(...from)).toMatchObject({ code: 1, kinds: ['differs'] })
  expect(await monitor(...from)).toMatchObject(calm)
})
