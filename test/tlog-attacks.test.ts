import { TypedDataEncoder, Wallet } from 'ethers'
import { describe, expect, test } from 'vitest'
import { contentKey } from '../packages/cli/src/log/attested'
import { signerOf } from '../packages/cli/src/log/entries'
import { Witness } from '../packages/witness/src/witness'
import { ATTEST_FIELDS, QUORUM_FIELDS } from '../src/eas/layouts'
import {
  ENTRY_LAYOUTS,
  LogFault,
  LogFollower,
  decodeEntry,
  encodeEntry,
  formatNote,
  formatProof,
  formatVerifierKey,
  inclusionOf,
  leafHash,
  parseNote,
  parsePolicy,
  parseTilePath,
  tilePath,
  type Checkpoint,
  type Entry,
  type EntryLayout,
  type LogFaultKind,
  type Policy,
} from '../src/tlog'
import { EFFORT, hunt } from './seed'
import { MemoryLog, allTiles, seededKey } from './tlog'

/**
 * Simulates attacks of a log's operator against its readers (docs/guide/log.md). Each starts from an honest
 * history that three witnesses and a monitor followed, and must be detected by a witness, by a monitor that
 * trusts no witness, or by the reader of an answer. `npm test` tries each kind once, CI 20 times (EFFORT=1).
 */
interface World {
  random: () => number
  log: MemoryLog
  witnesses: Witness[]
  /** The policy requires no cosignatures, so the monitor has to detect attacks without the witnesses. */
  monitor: LogFollower
  /** Entries that the monitor has read. */
  read: string[]
  /** Log that the monitor follows. */
  served: MemoryLog
  alone: Policy
  quorum: Policy
  below: (limit: number) => number
}

const BY = 1_800_000_000
const textsOf = (entries: readonly Uint8Array[]) => entries.map((each) => Buffer.from(each).toString())
const entry = (world: Pick<World, 'random'>) => Buffer.from(`entry ${world.random()}`)
const some = (world: World, most = 120) => Array.from({ length: 2 + world.below(most) }, () => entry(world))

async function worldOf(random: () => number): Promise<World> {
  const seed = Math.floor(random() * 2 ** 31)
  const log = new MemoryLog(await seededKey('geo.example.org/log/v0', 'ed25519', seed))
  const keys = await Promise.all([1, 2, 3].map((n) => seededKey(`w${n}.example`, 'cosignature', seed + n)))
  const folder = { write: () => Promise.resolve(), keepEvidence: () => Promise.resolve() }
  const logLine = `log ${formatVerifierKey(log.key)}\n`
  const alone = parsePolicy(`${logLine}quorum none`)
  const world: World = {
    ...{ random, log, served: log, read: [], alone },
    witnesses: keys.map((key) => new Witness(key, [log.key], folder, new Map(), () => BY)),
    monitor: new LogFollower((path) => Promise.resolve(world.served.read(path)), alone),
    quorum: parsePolicy(
      `${logLine}${keys.map((key, at) => `witness w${at} ${formatVerifierKey(key)}\n`).join('')}` +
        'group g 2 w0 w1 w2\nquorum g',
    ),
    below: (limit) => Math.floor(random() * limit),
  }
  for (let round = 1 + world.below(3); round > 0; round--) await grow(world, log)
  return world
}

/** Appends entries like an honest log: signed, cosigned by all witnesses, and read by the monitor. */
async function grow(world: World, log: MemoryLog): Promise<void> {
  const before = log.size
  await log.append(...some(world)).sign()
  for (const witness of world.witnesses) expect((await log.submit(witness, before)).status).toBe(200)
  expect(await advance(world)).toBe('no fault')
}

const kindOf = (error: unknown) => {
  if (error instanceof LogFault) return error.kind
  throw error
}
const faultOf = (error: unknown) => {
  if (error instanceof LogFault) return error
  throw error
}
const advance = (world: World): Promise<LogFaultKind | 'no fault'> =>
  world.monitor
    .advance((entries, index) => {
      expect(index).toBe(world.read.length)
      world.read.push(...textsOf(entries))
    })
    .then(() => 'no fault' as const, kindOf)

/** Returns the fault that the monitor finds in another log under the same key. */
const monitorOf = (world: World, log: MemoryLog) => {
  world.served = log
  return advance(world)
}
/** Returns the number of witnesses that cosign, whichever size the log claims as the last one. */
async function cosigners(world: World, log: MemoryLog, oldSize: number): Promise<number> {
  const statuses = await Promise.all(
    world.witnesses.map(async (witness) => (await log.submit(witness, oldSize)).status),
  )
  return statuses.filter((status) => status === 200).length
}
const readerOf = (world: World, leaf: Uint8Array, proof: string | undefined, policy = world.quorum) =>
  inclusionOf({ leaf, by: BY, proof }, policy, BY + 1).then(() => 'included' as const, kindOf)

/**
 * Creates a tree under the same key that does not extend the previous one. The witnesses and the monitor must
 * reject it.
 */
async function rewrite(world: World, entries: readonly Uint8Array[], kinds: readonly LogFaultKind[]) {
  const { size } = world.log
  const other = world.log.copy(entries)
  await other.sign()
  for (const oldSize of new Set([size, 0, Math.min(size, other.size), world.below(size)]))
    expect(await cosigners(world, other, oldSize)).toBe(0)
  expect(kinds).toContain(await monitorOf(world, other))
  await restartOn(world, other, kinds)
}

/** Restarts the monitor, which must find that a log contradicts its last checkpoint, and name both. */
async function restartOn({ monitor, alone }: World, log: MemoryLog, kinds: readonly LogFaultKind[]) {
  const resumed = new LogFollower((path) => Promise.resolve(log.read(path)), alone)
  const last = formatNote(monitor.last!.checkpoint.note)
  const fault = await resumed.resume(last).then(() => undefined, faultOf)
  expect(kinds).toContain(fault?.kind)
  expect(fault?.evidence).toEqual([last, formatNote(log.note)])
}
const REWRITTEN: readonly LogFaultKind[] = ['fork', 'rollback']

const hexOf = ({ below }: World, bytes: number) =>
  `0x${Array.from({ length: bytes }, () => below(256).toString(16).padStart(2, '0')).join('')}`
/** Random content of a random layout, signed by ethers, and its entry. */
async function signedEntry(world: World): Promise<{ entry: Entry; attester: string }> {
  const { below } = world
  const layouts = Object.keys(ENTRY_LAYOUTS) as EntryLayout[]
  const layout = layouts[below(layouts.length)]!
  const wallet = new Wallet(hexOf(world, 32))
  const attester = wallet.address.toLowerCase()
  const domain = { name: 'EAS', version: '1.2.0', chainId: 1 + below(9), verifyingContract: hexOf(world, 20) }
  const content = {
    ...{ schema: hexOf(world, 32), recipient: hexOf(world, 20), expirationTime: below(2 ** 32) },
    ...{ revocable: below(2) === 1, refUID: hexOf(world, 32), data: hexOf(world, 1 + below(300)) },
    nonce: layout === 'proxy' ? 0 : below(2 ** 32),
    deadline: layout === 'legacy' ? 0 : below(2 ** 32),
  }
  const fields = layout === 'quorum' ? QUORUM_FIELDS : ATTEST_FIELDS[layout]
  const message = { ...content, attester, value: 0, epoch: content.nonce }
  const signature = await wallet.signTypedData(
    domain,
    { [layout === 'quorum' ? 'Answer' : 'Attest']: fields },
    Object.fromEntries(fields.map(({ name }) => [name, message[name as keyof typeof message]])),
  )
  const separator = TypedDataEncoder.hashDomain(domain)
  const entry = {
    kind: 'answer',
    time: BY,
    ...{ chainId: domain.chainId, attester, layout, separator },
  } as const
  return { entry: { ...entry, ...content, signature }, attester }
}
const otherHex = (world: World, text: string) => {
  const at = 2 + world.below(text.length - 2)
  return `${text.slice(0, at)}${(parseInt(text[at]!, 16) ^ (1 + world.below(15))).toString(16)}${text.slice(at + 1)}`
}
/** Returns a different value for each signed field. */
const ALTERED = {
  attester: (world: World, { attester }: Entry) => otherHex(world, attester),
  separator: (world: World, { separator }: Entry) => otherHex(world, separator),
  schema: (world: World, { schema }: Entry) => otherHex(world, schema),
  recipient: (world: World, { recipient }: Entry) => otherHex(world, recipient),
  refUID: (world: World, { refUID }: Entry) => otherHex(world, refUID),
  data: (world: World, { data }: Entry) => (world.below(2) ? otherHex(world, data) : `${data}00`),
  layout: ({ below }: World, { layout }: Entry) => {
    const others = (Object.keys(ENTRY_LAYOUTS) as EntryLayout[]).filter((each) => each !== layout)
    return others[below(others.length)]!
  },
  revocable: (_: World, { revocable }: Entry) => !revocable,
  expirationTime: ({ below }: World, { expirationTime }: Entry) => expirationTime + 1 + below(2 ** 40),
  nonce: ({ below }: World, { nonce }: Entry) => nonce + 1 + below(2 ** 40),
  deadline: ({ below }: World, { deadline }: Entry) => deadline + 1 + below(2 ** 40),
}

const ATTACKS: Record<string, (world: World) => Promise<void>> = {
  fork: async (world) => {
    const at = world.below(world.log.size)
    await rewrite(world, [...world.log.entries.slice(0, at), ...some(world, 300)], REWRITTEN)
  },
  'rollback to a signed and cosigned checkpoint': async (world) => {
    const old = world.log.copy()
    old.note = structuredClone(world.log.note)
    await grow(world, world.log)
    expect(await monitorOf(world, old)).toBe('rollback')
    await restartOn(world, old, ['rollback'])
    // If it cannot read the checkpoint, it finds that the tiles do not match.
    const hidden = new LogFollower(
      (path) =>
        path === 'checkpoint' ? Promise.reject(new Error('HTTP 503')) : Promise.resolve(old.read(path)),
      world.alone,
    )
    const last = formatNote(world.monitor.last!.checkpoint.note)
    expect(['entries', 'format']).toContain(await hidden.resume(last).then(() => 'no fault', kindOf))
    expect(await cosigners(world, old, old.size)).toBe(0)
  },
  'restored backup': async (world) => {
    const backup = world.log.entries.slice()
    await grow(world, world.log)
    await rewrite(world, [...backup, ...some(world, 300)], REWRITTEN)
  },
  'removed entry': async (world) => {
    const at = world.below(world.log.size)
    const more = world.below(2) ? some(world) : []
    await rewrite(world, [...world.log.entries.toSpliced(at, 1), ...more], REWRITTEN)
  },
  'altered entry': async (world) => {
    const altered = world.log.entries.map((each) => Buffer.from(each))
    const at = world.below(altered.length)
    altered[at]![world.below(altered[at]!.length)]! ^= 1 << world.below(8)
    await rewrite(world, [...altered, ...(world.below(2) ? some(world) : [])], REWRITTEN)
  },
  'reordered entries': async (world) => {
    const { size } = world.log
    const reordered = world.log.entries.slice()
    const [a, b] = [world.below(size), world.below(size)]
    ;[reordered[a], reordered[b]] = [reordered[b]!, reordered[a]!]
    if (a === b) reordered.push(reordered.shift()!, entry(world))
    await rewrite(world, [...reordered, ...(world.below(2) ? some(world) : [])], REWRITTEN)
  },
  'entries or hashes served that are not those of the tree': async (world) => {
    const next = world.log.copy()
    await next.append(...some(world)).sign()
    const { size } = world.log
    // Chooses a file that the monitor reads in this step: a new entry, or the last tiles after its restart.
    const isRestart = world.below(2) === 1
    const read = next.read.bind(next)
    let hits = 0
    next.read = (path) => {
      const content = read(path)
      const tile = parseTilePath(path)
      if (!content || !tile || (tile.level === 'entries') === isRestart) return content
      const changed = Buffer.from(content)
      const first = isRestart ? 0 : changed.length - 1
      changed[first]! ^= 1
      hits++
      return changed
    }
    world.served = next
    if (isRestart) {
      const resumed = new LogFollower((path) => Promise.resolve(next.read(path)), world.alone)
      const note = formatNote(world.monitor.last!.checkpoint.note)
      const fault = await resumed.resume(note).then(() => 'no fault', kindOf)
      // If the size is a multiple of 256^2, the monitor reads no tile on the edge that could differ.
      expect([size, hits > 0 ? fault : 'entries']).toEqual([size, 'entries'])
    } else expect(['entries', 'format']).toContain(await advance(world))
  },
  'checkpoints that contradict each other, to two readers': async (world) => {
    const other = world.log.copy()
    await grow(world, world.log)
    await other.append(...some(world)).sign()
    // One reader sees the checkpoint that the witnesses saw. The other one lacks their cosignatures, ...
    expect(await cosigners(world, other, world.log.size)).toBe(0)
    const { index, leaf } = { index: other.size - 1, leaf: leafHash(other.entries.at(-1)!) }
    const proof = formatProof({ index, hashes: await other.inclusion(index) }, other.note)
    expect(await readerOf(world, leaf, proof)).toBe('quorum')
    // ... and if its policy requires none, the monitor finds the contradiction in the checkpoint that this
    // reader reports.
    expect(await readerOf(world, leaf, proof, world.alone)).toBe('included')
    expect(REWRITTEN).toContain(
      await world.monitor.compare(formatNote(other.note)).then(() => 'no fault', kindOf),
    )
  },
  'entry that is signed and never included': async (world) => {
    const leaf = leafHash(entry(world))
    await grow(world, world.log)
    const { log } = world
    const index = world.below(log.size)
    const real = { index, hashes: await log.inclusion(index) }
    const fake = log.copy()
    await fake.append(entry(world)).sign()
    expect(await readerOf(world, leaf, undefined)).toBe('missing')
    // Proofs of another entry, in the log or in a tree that is shown to this reader only.
    expect(await readerOf(world, leaf, formatProof(real, log.note))).toBe('entries')
    expect(await readerOf(world, leaf, formatProof(real, fake.note))).toBe('quorum')
    expect(await readerOf(world, log.entries.map(leafHash)[index]!, formatProof(real, log.note))).toBe(
      'included',
    )
    expect(['entries', 'format', 'signature']).toContain(
      await readerOf(world, leaf, formatProof(real, log.note).replace('index ', 'index 1')),
    )
  },
  'entry with other content than what was signed': async (world) => {
    const { entry: honest, attester } = await signedEntry(world)
    expect(await signerOf(decodeEntry(encodeEntry(honest)))).toBe(attester)
    const names = Object.keys(ALTERED) as (keyof typeof ALTERED)[]
    const name = names[world.below(names.length)]!
    const lie = { ...honest, [name]: ALTERED[name](world, honest) }
    expect(lie).not.toEqual(honest)
    expect([lie, await signerOf(decodeEntry(encodeEntry(lie)))]).not.toEqual([lie, lie.attester])
  },
  'attestation with other content than its entry': async (world) => {
    const { entry: logged } = await signedEntry(world)
    // A monitor compares the key of an attestation, as a chain returns it, with those of entries.
    const keyOf = (content: Entry, chainId = content.chainId) =>
      contentKey(chainId, { ...content, expirationTime: BigInt(content.expirationTime) })
    const key = await contentKey(logged.chainId, logged)
    expect([key, key.length]).toEqual([await keyOf(logged), 66])
    const stored = [
      'attester',
      'schema',
      'recipient',
      'refUID',
      'data',
      'revocable',
      'expirationTime',
    ] as const
    for (const name of stored)
      expect([name, await keyOf({ ...logged, [name]: ALTERED[name](world, logged) })]).not.toEqual([
        name,
        key,
      ])
    expect(await keyOf(logged, logged.chainId + 1)).not.toBe(key)
  },
  'two sequencers': async (world) => {
    const [a, b] = [world.log.copy(), world.log.copy()]
    const cosigned = new Map<string, number>()
    const before = world.log.size
    let [lastOfA, lastOfB] = [before, before]
    for (let round = 0; round < 3; round++) {
      for (const [log, last] of [
        [a, lastOfA],
        [b, lastOfB],
      ] as const) {
        await log.append(...some(world, 5)).sign()
        for (const witness of world.witnesses)
          if ((await log.submit(witness, world.below(2) ? last : before)).status === 200)
            cosigned.set(log.note.text, (cosigned.get(log.note.text) ?? 0) + 1)
      }
      ;[lastOfA, lastOfB] = [a.size, b.size]
    }
    // Trees whose checkpoints reached the quorum do not contradict each other.
    const trees = [...cosigned].filter(([, count]) => count >= 2).map(([text]) => text)
    const isOf = (log: MemoryLog, text: string) => {
      const size = Number(text.split('\n')[1])
      return (
        log.size >= size &&
        log
          .copy(log.entries.slice(0, size))
          .sign()
          .then((each) => each.note.text === text)
      )
    }
    const owners = await Promise.all(trees.map(async (text) => [await isOf(a, text), await isOf(b, text)]))
    expect(owners.every(([first]) => first) || owners.every(([, second]) => second)).toBe(true)
    expect(await monitorOf(world, a)).toBe('no fault')
    expect(REWRITTEN).toContain(await monitorOf(world, b))
  },
  'crash between the commit of an entry and its answer': async (world) => {
    // The signature was committed but not delivered. The entry is in the log, and nothing contradicts it.
    const committed = entry(world)
    const restarted = world.log.copy()
    const before = restarted.size
    await restarted.append(committed).sign()
    expect(await cosigners(world, restarted, before)).toBe(3)
    expect(await monitorOf(world, restarted)).toBe('no fault')
    expect(world.read.at(-1)).toBe(committed.toString())
    // The answer was delivered, and the crash lost its entry, which the reader of the answer detects.
    const lost = leafHash(entry(world))
    expect(await inclusionOf({ leaf: lost, by: BY, proof: undefined }, world.quorum, BY)).toBe('pending')
    expect(await readerOf(world, lost, undefined)).toBe('missing')
  },
}

describe('an attack of the operator of a log', () => {
  hunt(
    'is detected by a witness, a monitor or the reader of an answer',
    260,
    async ({ cases, random, report }) => {
      const names = Object.keys(ATTACKS)
      const tried = new Map<string, number>()
      const count = EFFORT < 1 ? names.length : Math.max(cases, names.length)
      for (let at = 0; at < count; at++) {
        const name = names[at % names.length]!
        await ATTACKS[name]!(await worldOf(random))
        tried.set(name, (tried.get(name) ?? 0) + 1)
      }
      for (const [name, count] of tried) report(`${name}: ${count} tried, ${count} detected`)
    },
  )

  test('is a fork only if a smaller tree is not part of the last one', async () => {
    const log = new MemoryLog(await seededKey('geo.example.org/log/v0', 'ed25519', 1))
    const policy = parsePolicy(`log ${formatVerifierKey(log.key)}\nquorum none`)
    const [first, ...more] = ['a', 'b', 'c'].map((each) => Buffer.from(each))
    await log.append(first!).sign()
    const older = structuredClone(log.note)
    await log.append(...more).sign()
    const last = log.note
    const other = log.copy([more[0]!, first!])
    await other.sign()
    // The tiles of the last tree are served with each checkpoint.
    const follower = new LogFollower((path) => Promise.resolve(log.read(path)), policy)
    await follower.advance(() => {})
    const kinds = []
    for (const note of [older, other.note]) {
      log.note = note
      const fault = await follower.advance(() => {}).then(() => undefined, faultOf)
      kinds.push(fault?.kind)
      expect(fault?.evidence).toEqual([last, note].map(formatNote))
    }
    expect(kinds).toEqual(['rollback', 'fork'])
  })

  test('is detected although any one tile is malformed or unreachable', async () => {
    const log = new MemoryLog(await seededKey('geo.example.org/log/v0', 'ed25519', 1))
    const entries = Array.from({ length: 1000 }, (_, at) => Buffer.from(`entry ${at}`))
    await log.append(...entries.slice(0, 300)).sign()
    const next = log.copy(entries)
    await next.sign()
    const tiles = allTiles(next.size).filter(({ level }) => level !== 'entries')
    for (const tile of tiles.map(tilePath))
      for (const content of [new Uint8Array(31), new Error('HTTP 503')]) {
        let served = log
        const files = async (path: string) => {
          if (served === next && path === tile) {
            if (content instanceof Error) throw content
            return content
          }
          const altered = served === next && path === 'tile/entries/002'
          return altered ? Buffer.from(next.read(path)!).fill(0x78, 3, 4) : served.read(path)
        }
        const policy = parsePolicy(`log ${formatVerifierKey(log.key)}\nquorum none`)
        const follower = new LogFollower(files, policy)
        await follower.advance(() => {})
        served = next
        expect([tile, await follower.advance(() => {}).then(() => 'no fault', kindOf)]).toEqual([
          tile,
          'entries',
        ])
      }
  })
})

describe('an honest operator of a log', () => {
  test('has not signed a fork if a tile is altered, for example by a cache', async () => {
    const log = new MemoryLog(await seededKey('geo.example.org/log/v0', 'ed25519', 1))
    const entries = Array.from({ length: 300 }, (_, at) => Buffer.from(`entry ${at}`))
    await log.append(...entries.slice(0, 100)).sign()
    const older = log.note
    await log.append(...entries.slice(100)).sign()
    const policy = parsePolicy(`log ${formatVerifierKey(log.key)}\nquorum none`)
    let altered = { path: '', at: 0 }
    const files = async (path: string) => {
      const content = log.read(path)
      const start = 32 * altered.at
      return path === altered.path ? Buffer.from(content!).fill(0, start, start + 1) : content
    }
    const follower = new LogFollower(files, policy)
    await follower.advance(() => {})
    const kinds = new Set<string>()
    log.note = older
    for (const tile of allTiles(log.size).filter(({ level }) => level !== 'entries'))
      for (let at = 0; at < tile.width; at += EFFORT < 1 ? 9 : 1) {
        altered = { path: tilePath(tile), at }
        kinds.add(await follower.compare(formatNote(older)).then(() => 'no fault', kindOf))
        kinds.add(await follower.advance(() => {}).then(() => 'no fault', kindOf))
      }
    expect([...kinds].toSorted()).toEqual(['entries', 'no fault', 'rollback'])
  })

  hunt('causes no alarm, through restarts of its monitor', 20, async ({ cases, random }) => {
    for (let at = 0; at < cases; at++) {
      const world = await worldOf(random)
      const notes: Checkpoint[] = [world.monitor.last!.checkpoint]
      for (let round = 0; round < 4; round++) {
        await grow(world, world.log)
        notes.push(world.monitor.last!.checkpoint)
        const note = formatNote(notes.at(-1 - world.below(notes.length))!.note)
        const resumed = new LogFollower((path) => Promise.resolve(world.log.read(path)), world.quorum)
        await resumed.resume(note)
        const read: string[] = []
        await resumed.advance((each) => void read.push(...textsOf(each)))
        expect(world.read.slice(world.read.length - read.length)).toEqual(read)
        expect(resumed.last!.checkpoint.size).toBe(world.log.size)
        for (const earlier of notes) await resumed.compare(formatNote(earlier.note))
        const index = world.below(world.log.size)
        const proof = formatProof({ index, hashes: await world.log.inclusion(index) }, world.log.note)
        const leaf = leafHash(world.log.entries[index]!)
        expect(await inclusionOf({ leaf, by: 0, proof }, world.quorum, BY)).toMatchObject({ index })
      }
    }
  })

  test('has a log that is read up to its checkpoint if only larger files remain', async () => {
    const log = new MemoryLog(await seededKey('geo.example.org/log/v0', 'ed25519', 1))
    const policy = parsePolicy(`log ${formatVerifierKey(log.key)}\nquorum none`)
    const entries = Array.from({ length: 600 }, (_, at) => Buffer.from(`entry ${at}`))
    await log.append(...entries.slice(0, 300)).sign()
    const grown = log.copy(entries)
    const contentOf = (path: string) =>
      path === 'checkpoint' || !path.includes('/001') ? log.read(path) : grown.read(path)
    // The server of a static copy does not state that it has no file.
    const copied = async (path: string) => {
      const content = contentOf(path)
      if (!content) throw new Error('HTTP 404')
      return Promise.resolve(content)
    }
    for (const files of [(path: string) => Promise.resolve(contentOf(path)), copied]) {
      const follower = new LogFollower(files, policy)
      const read: string[] = []
      await follower.advance((each) => void read.push(...textsOf(each)))
      expect(read).toEqual(entries.slice(0, 300).map(String))
      await new LogFollower(files, policy).resume(formatNote(log.note))
    }
  })

  test('is not accused because of tiles that cannot be read', async () => {
    const log = new MemoryLog(await seededKey('geo.example.org/log/v0', 'ed25519', 1))
    const policy = parsePolicy(`log ${formatVerifierKey(log.key)}\nquorum none`)
    await log.append(Buffer.from('an entry')).sign()
    const note = formatNote(log.note)
    let reads = 0
    const follower = new LogFollower((path) => {
      if (path === 'checkpoint') return Promise.resolve(log.read(path))
      // The partial tile and the full one are missing at first, and unreachable later.
      return reads++ < 2 ? Promise.resolve(undefined) : Promise.reject(new Error('HTTP 502'))
    }, policy)
    const fault = await follower.resume(note).then(() => undefined, faultOf)
    expect([fault?.kind, fault?.evidence]).toEqual(['format', []])
  })

  test('has a log that is read again if the reader of its entries fails', { tags: ['slow'] }, async () => {
    const log = new MemoryLog(await seededKey('geo.example.org/log/v0', 'ed25519', 1))
    const policy = parsePolicy(`log ${formatVerifierKey(log.key)}\nquorum none`)
    const follower = new LogFollower((path) => Promise.resolve(log.read(path)), policy)
    // More entries than the follower keeps in memory until the tree is verified.
    const count = 17_000
    await log.append(...Array.from({ length: count }, (_, at) => Buffer.from(`entry ${at}`))).sign()
    const failing = (_: readonly Uint8Array[], index: number) => {
      if (index === 512) throw new Error('unreachable')
    }
    await expect(follower.advance(failing)).rejects.toThrow('unreachable')
    const { last, checked } = follower
    expect([last?.checkpoint.size, checked]).toEqual([count, 512])
    // The next read begins at the bundle that failed, also in another process, and of a tree that has grown.
    const restarted = new LogFollower((path) => Promise.resolve(log.read(path)), policy)
    await restarted.resume(formatNote(last!.checkpoint.note), checked)
    const fork = log.copy(log.entries.with(600, Buffer.from('another')))
    await log.append(Buffer.from('one more')).sign()
    for (const each of [follower, restarted]) {
      const read: string[] = []
      await each.advance((entries, index) => {
        expect(index).toBe(512 + read.length)
        read.push(...textsOf(entries))
      })
      expect([read, each.checked]).toEqual([textsOf(log.entries.slice(512)), count + 1])
    }
    // A tree without an entry of the last one, which was not checked yet, is a fork.
    await fork.append(Buffer.from('one more'), Buffer.from('two more')).sign()
    const forked = new LogFollower((path) => Promise.resolve(served.read(path)), policy)
    let served = log
    await expect(forked.advance(failing)).rejects.toThrow('unreachable')
    served = fork
    await expect(forked.advance(() => {})).rejects.toMatchObject({ kind: 'fork' })
    // The log serves other entries when a bundle is read for the second time.
    const honest = log.read.bind(log)
    const seen = new Set<string>()
    log.read = (path) => {
      const content = honest(path)
      if (!content || !path.startsWith('tile/entries/065') || !seen.has(path))
        return (void seen.add(path), content)
      return Buffer.from(content).fill(0x78, 3, 4)
    }
    const another = new LogFollower((path) => Promise.resolve(log.read(path)), policy)
    await expect(another.advance(() => {})).rejects.toMatchObject({ kind: 'entries' })
    expect(parseNote(formatNote(log.note)).text).toBe(log.note.text)
  })
  test('has a log whose longest entries are not all kept in memory until its tree is verified', async () => {
    const log = new MemoryLog(await seededKey('geo.example.org/log/v0', 'ed25519', 1))
    const policy = parsePolicy(`log ${formatVerifierKey(log.key)}\nquorum none`)
    await log.append(...Array.from({ length: 257 }, (_, at) => Buffer.alloc(40_000, at))).sign()
    const reads: string[] = []
    const files = (path: string) => (reads.push(path), Promise.resolve(log.read(path)))
    await new LogFollower(files, policy).advance(() => {})
    expect(reads.filter((path) => path === 'tile/entries/000')).toHaveLength(2)
  })
})
