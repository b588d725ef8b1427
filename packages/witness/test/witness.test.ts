// SPDX-License-Identifier: MIT
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, promises, readFileSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import type { AddressInfo } from 'node:net'
import { uptime } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  formatVerifierKey,
  formatWitnessRequest,
  parseCheckpoint,
  parsePolicy,
  parseSignatures,
  parseVerifierKey,
  signatureBy,
  signersOf,
} from '../../../src/tlog'
import { removeFolder, temporaryFolder } from '../../../test/database'
import { hunt } from '../../../test/seed'
import { MemoryLog, seededKey } from '../../../test/tlog'
import { Folder } from '../src/folder'
import { run } from '../src/run'
import { serve as serveWitness } from '../src/server'
import type { Witness } from '../src/witness'

const NAME = 'witness.example.org/w1'
const TIME = 1_800_000_000
let folder: string
let ends: (() => Promise<unknown>)[] = []
beforeEach(() => (folder = temporaryFolder()))
afterEach(async () => {
  for (const end of ends) await end()
  ends = []
  removeFolder(folder)
})

/** Runs a command until it ends. */
async function geoWitness(...argv: string[]) {
  const output = { status: 0, printed: '', reported: '' }
  output.status = await run([...argv, '--folder', path.join(folder, 'w')], {
    print: (text) => (output.printed += text),
    report: (text) => (output.reported += text),
    clock: () => TIME,
    signal: AbortSignal.abort(),
  })
  return output
}

/** Starts `geo-witness serve`, and resolves once it listens. */
async function serve(...logs: MemoryLog[]) {
  const stop = new AbortController()
  let ended: Promise<number> | undefined
  const url = await new Promise<string>((resolve, reject) => {
    const options = logs.flatMap(({ key }) => ['--log', formatVerifierKey(key)])
    ended = run(['serve', ...options, '--listen', '127.0.0.1:0', '--folder', path.join(folder, 'w')], {
      print: (text) => resolve(`http://${/ on (\S+)/.exec(text)![1]}`),
      report: (text) => reject(new Error(text)),
      clock: () => TIME,
      signal: stop.signal,
    })
  })
  const end = () => {
    stop.abort()
    return ended!
  }
  ends.push(end)
  const addCheckpoint = async (body: string | Uint8Array) => {
    const response = await fetch(`${url}/add-checkpoint`, { method: 'POST', body: body as string })
    return {
      status: response.status,
      type: response.headers.get('content-type'),
      body: await response.text(),
    }
  }
  return { url, addCheckpoint, ended: ended!, end }
}

const entry = (text: string | number) => Buffer.from(`entry ${text}`)
const entries = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => entry(from + at))
const newLog = async (seed = 1) =>
  new MemoryLog(await seededKey(`log${seed}.example.org/log`, 'ed25519', seed))

describe('geo-witness', () => {
  test('creates a key once, in a file that only its owner can read', async () => {
    const { status, printed } = await geoWitness('init', NAME)
    expect([status, parseVerifierKey(printed.trim())]).toEqual([
      0,
      expect.objectContaining({ name: NAME, type: 'cosignature' }),
    ])
    expect((await geoWitness('vkey')).printed).toBe(printed)
    const key = path.join(folder, 'w', 'key')
    expect(readFileSync(key, 'utf8')).toMatch(/^PRIVATE\+KEY\+witness\.example\.org\/w1\+/)
    if (process.platform !== 'win32') expect(statSync(key).mode & 0o777).toBe(0o600)
    expect(await geoWitness('init', NAME)).toMatchObject({ status: 2, printed: '' })
    expect((await geoWitness('vkey')).printed).toBe(printed)
  })

  test('exits with status 2 for invalid usage', async () => {
    const log = formatVerifierKey((await newLog()).key)
    for (const argv of [
      ...[['serve'], ['vkey'], ['init'], ['init', 'a b'], ['init', 'a', 'b'], ['sing'], ['--sing']],
      ['serve', '--log', log],
    ])
      expect([argv, await geoWitness(...argv)]).toEqual([
        argv,
        expect.objectContaining({ status: 2, printed: '' }),
      ])
    await geoWitness('init', NAME)
    for (const argv of [
      ['serve', '--log', log.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))],
      ['serve', '--log', log, '--listen', '7380'],
      ['serve', '--log', log, '--listen', 'localhost:70000'],
    ])
      expect([argv, await geoWitness(...argv)]).toEqual([
        argv,
        expect.objectContaining({ status: 2, printed: '' }),
      ])
    expect((await geoWitness('--help')).printed).toContain('Usage: geo-witness')
    expect((await geoWitness('serve', '--log', log)).reported).toBe('')
  })

  test('cosigns a growing log, and resumes after a restart', async () => {
    const vkey = parseVerifierKey((await geoWitness('init', NAME)).printed.trim())
    const log = await newLog()
    let witness = await serve(log)
    let last = 0
    for (const size of [0, 1, 1, 5, 256, 300]) {
      log.append(...entries(log.size, size))
      await log.sign()
      const reply = await log.submit(witness, last)
      expect([size, reply.status]).toEqual([size, 200])
      const [signature] = parseSignatures(reply.body)
      expect(await signatureBy({ text: log.note.text, signatures: [signature!] }, vkey)).toEqual(signature)
      last = size
      if (size === 5) {
        expect(await witness.end()).toBe(0)
        witness = await serve(log)
      }
    }
    const response = await fetch(`${witness.url}/${encodeURIComponent(log.key.name)}/checkpoint`)
    const stored = parseCheckpoint(await response.text())
    expect([stored.size, await signatureBy(stored.note, vkey)]).toEqual([300, expect.anything()])
    expect(await (await fetch(witness.url)).text()).toBe(`${formatVerifierKey(vkey)}\n`)
    const metrics = await (await fetch(`${witness.url}/metrics`)).text()
    expect(metrics).toContain('geo_witness_size{origin="log1.example.org/log"} 300')
    expect(metrics).toContain('geo_witness_requests_total{status="200"} 2')
  })

  test('refuses with the status that c2sp.org/tlog-witness specifies, and keeps its state', async () => {
    await geoWitness('init', NAME)
    const [log, unknown] = [await newLog(1), await newLog(2)]
    const witness = await serve(log)
    await log.append(...entries(0, 10)).sign()
    expect((await log.submit(witness, 0)).status).toBe(200)
    const before = readdirSync(path.join(folder, 'w', 'checkpoints')).map((name) =>
      readFileSync(path.join(folder, 'w', 'checkpoints', name), 'utf8'),
    )
    const status = async (body: string) => (await witness.addCheckpoint(body)).status

    await unknown.append(entry(0)).sign()
    expect((await unknown.submit(witness, 0)).status).toBe(404)

    // Checkpoints that are signed by another key under the name of the log, or were changed after signing.
    const impostor = new MemoryLog(await seededKey(log.key.name, 'ed25519', 3))
    await impostor.append(...entries(0, 12)).sign()
    expect((await impostor.submit(witness, 10)).status).toBe(403)
    await log.append(...entries(10, 20)).sign()
    const honest = formatWitnessRequest({ oldSize: 10, hashes: await log.consistency(10) }, log.note)
    expect(await status(honest.replace('\n20\n', '\n21\n'))).toBe(403)

    expect(await log.submit(witness, 3)).toMatchObject({
      status: 409,
      type: 'text/x.tlog.size',
      body: '10\n',
    })
    expect(await log.submit(witness, 0)).toMatchObject({
      status: 409,
      type: 'text/x.tlog.size',
      body: '10\n',
    })
    expect(await status(formatWitnessRequest({ oldSize: 21, hashes: [] }, log.note))).toBe(400)
    expect(await status('')).toBe(400)
    expect(await status(honest.replace('old', 'new'))).toBe(400)
    expect(await status('a'.repeat(200_000))).toBe(413)
    expect(await status(formatWitnessRequest({ oldSize: 10, hashes: [] }, log.note))).toBe(422)
    const proof = await log.consistency(10)
    expect(await status(formatWitnessRequest({ oldSize: 10, hashes: proof.slice(1) }, log.note))).toBe(422)

    const fork = log.copy([...entries(0, 9), entry('another')])
    await fork.sign()
    expect(await fork.submit(witness, 10)).toMatchObject({ status: 409, type: 'text/plain; charset=utf-8' })
    await fork.append(...entries(10, 20)).sign()
    expect((await fork.submit(witness, 10)).status).toBe(422)

    const after = readdirSync(path.join(folder, 'w', 'checkpoints')).map((name) =>
      readFileSync(path.join(folder, 'w', 'checkpoints', name), 'utf8'),
    )
    expect(after).toEqual(before)
    // Both contradictions are stored, each with the checkpoint that it contradicts.
    const evidence = readdirSync(path.join(folder, 'w', 'evidence')).map((name) =>
      readFileSync(path.join(folder, 'w', 'evidence', name), 'utf8'),
    )
    expect(
      evidence.filter((text) => text.includes(before[0]!) && text.includes(fork.note.text)),
    ).toHaveLength(1)
    expect((await log.submit(witness, 10)).status).toBe(200)
    for (const [method, url, code] of [
      ['GET', '/add-checkpoint', 405],
      ['POST', '/', 404],
      ['GET', '/%/checkpoint', 404],
      ['GET', '/x/checkpoint', 404],
    ] as const)
      expect([url, (await fetch(witness.url + url, { method })).status]).toEqual([url, code])
  })

  test('cosigns only one of two checkpoints that arrive at once and contradict each other', async () => {
    await geoWitness('init', NAME)
    const log = await newLog()
    const witness = await serve(log)
    await log.append(...entries(0, 7)).sign()
    await log.submit(witness, 0)
    const forks = Array.from({ length: 8 }, (_, at) =>
      log.copy([...log.entries, ...entries(100 * at, 100 * at + 3)]),
    )
    const replies = await Promise.all(
      forks.map(async (fork) => {
        await fork.sign()
        return fork.submit(witness, 7)
      }),
    )
    expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(7).fill(409)])
  })

  test('has a state for each log, and accepts every key of a log that rotates its keys', async () => {
    await geoWitness('init', NAME)
    const [first, second] = [await newLog(1), await newLog(2)]
    const rotated = new MemoryLog(await seededKey(first.key.name, 'ed25519', 7))
    const witness = await serve(first, second, rotated)
    for (const log of [first, second]) {
      await log.append(...entries(0, 4)).sign()
      expect((await log.submit(witness, 0)).status).toBe(200)
    }
    await rotated.append(...entries(0, 6)).sign()
    expect((await rotated.submit(witness, 4)).status).toBe(200)
  })

  test('does not start on a folder that another process uses, or whose state is damaged', async () => {
    await geoWitness('init', NAME)
    const log = await newLog()
    const options = ['serve', '--log', formatVerifierKey(log.key), '--listen', '127.0.0.1:0']
    const lock = path.join(folder, 'w', 'lock')
    for (const owner of [`${process.ppid}\n`, `${process.ppid} x\n`]) {
      writeFileSync(lock, owner)
      expect((await geoWitness(...options)).reported).toContain(`in use by process ${process.ppid}`)
    }
    // A process that has created the lock, and is about to write its id.
    writeFileSync(lock, '')
    const starting = geoWitness(...options)
    writeFileSync(lock, `${process.ppid} x\n`)
    expect((await starting).reported).toContain(`in use by process ${process.ppid}`)
    // The processes with these IDs have ended, or the ID is that of this process.
    for (const owner of [`${process.pid}\n`, `${process.pid} x\n`, `${2 ** 22 + 1}\n`]) {
      writeFileSync(lock, owner)
      expect(await geoWitness(...options)).toMatchObject({ status: 0 })
    }
    // The machine has started since, and another process has the ID now.
    writeFileSync(lock, `${process.ppid} x\n`)
    const before = Date.now() / 1_000 - uptime() - 10
    utimesSync(lock, before, before)
    expect(await geoWitness(...options)).toMatchObject({ status: 0 })
    const witness = await serve(log)
    await log.append(entry(0)).sign()
    await log.submit(witness, 0)
    await witness.end()
    const checkpoints = path.join(folder, 'w', 'checkpoints')
    const [name] = readdirSync(checkpoints)
    const text = readFileSync(path.join(checkpoints, name!), 'utf8')
    // A partially written file of a killed process is removed.
    writeFileSync(path.join(checkpoints, `${name}.new`), text.slice(0, 20))
    expect((await geoWitness(...options)).status).toBe(0)
    expect(readdirSync(checkpoints)).toEqual([name])
    const [ownLine] = text.match(/^\u2014 witness.*\n/m)!
    for (const damaged of [
      ...['', text.slice(0, 20), text.replace('log1', 'log2'), text.replace('\n1\n', '\n2\n')],
      text.replace(ownLine, ''),
    ]) {
      writeFileSync(path.join(checkpoints, name!), damaged)
      expect((await geoWitness(...options)).reported).toContain('is damaged')
    }
  })

  test('starts on a folder whose lock has no process id for a second', { tags: ['slow'] }, async () => {
    await geoWitness('init', NAME)
    writeFileSync(path.join(folder, 'w', 'lock'), '')
    expect(await geoWitness('serve', '--log', formatVerifierKey((await newLog()).key))).toMatchObject({
      status: 0,
    })
  })

  test('does not cosign once another process has claimed its folder', async () => {
    await geoWitness('init', NAME)
    const log = await newLog()
    const first = await serve(log)
    await log.append(...entries(0, 4)).sign()
    expect((await log.submit(first, 0)).status).toBe(200)
    // Two containers with one volume, in which both processes have the same id.
    let second = await serve(log)
    const forks = [log.copy(), log.copy()]
    await forks[0]!.append(entry('a')).sign()
    await forks[1]!.append(entry('b')).sign()
    expect((await forks[1]!.submit(second, 4)).status).toBe(200)
    expect((await forks[0]!.submit(first, 4)).status).toBe(500)
    expect(await first.ended).toBe(2)
    // The end of the first process does not release the lock of the second one.
    const lock = path.join(folder, 'w', 'lock')
    expect(readFileSync(lock, 'utf8')).toMatch(/^\d+ \S+\n$/)
    // The second one still has its own history after a restart.
    expect(await second.end()).toBe(0)
    second = await serve(log)
    const response = await fetch(`${second.url}/${encodeURIComponent(log.key.name)}/checkpoint`)
    expect(parseCheckpoint(await response.text()).note.text).toBe(forks[1]!.note.text)
    await forks[1]!.append(entry('c')).sign()
    expect((await forks[1]!.submit(second, 5)).status).toBe(200)
  })

  hunt('stores and serves only signatures of the log and its own', 20, async ({ random, cases }) => {
    const below = (limit: number) => Math.floor(random() * limit)
    const vkey = parseVerifierKey((await geoWitness('init', NAME)).printed.trim())
    const log = await newLog()
    const policy = parsePolicy(
      `log ${formatVerifierKey(log.key)}\nwitness w ${formatVerifierKey(vkey)}\nquorum w\n`,
    )
    const others = [vkey, await seededKey('other.example/w', 'cosignature', 4), { ...log.key, id: 5 }]
    let witness = await serve(log)
    for (let each = 0; each < cases; each++) {
      const before = log.size
      await log.append(...entries(before, before + below(3))).sign()
      // Anyone can add up to 99 lines, under any name, to a checkpoint that the log signed.
      const added = Array.from({ length: below(3) ? 99 : below(9) }, (_, at) => {
        const { name, id } = below(2) ? others[below(3)]! : { name: `x${at}`, id: below(2 ** 32) }
        return { name, id, bytes: Uint8Array.from({ length: 1 + below(80) }, () => below(256)) }
      })
      const forged = new MemoryLog(log.key).append(...log.entries)
      forged.note = { ...log.note, signatures: [...log.note.signatures, ...added] }
      expect((await forged.submit(witness, before)).status).toBe(200)
      const response = await fetch(`${witness.url}/${encodeURIComponent(log.key.name)}/checkpoint`)
      const served = parseCheckpoint(await response.text())
      expect([served.size, served.note.signatures.length]).toEqual([log.size, 2])
      expect(await signersOf(served, policy)).toMatchObject({ isQuorum: true })
      if (below(4) > 0) continue
      expect(await witness.end()).toBe(0)
      witness = await serve(log)
    }
  })

  test('stores forks after any number of checkpoints with wrong proofs', { tags: ['slow'] }, async () => {
    await geoWitness('init', NAME)
    const log = await newLog()
    const witness = await serve(log)
    await log.append(...entries(0, 3)).sign()
    expect((await log.submit(witness, 0)).status).toBe(200)
    const later = log.copy()
    for (let each = 0; each < 110; each++) {
      await later.append(entry(each)).sign()
      const body = formatWitnessRequest({ oldSize: 3, hashes: [] }, later.note)
      expect((await witness.addCheckpoint(body)).status).toBe(422)
    }
    const fork = log.copy([...entries(0, 2), entry('another')])
    await fork.sign()
    expect((await fork.submit(witness, 3)).status).toBe(409)
    const larger = fork.copy()
    await larger.append(...entries(0, 2)).sign()
    expect((await larger.submit(witness, 3)).status).toBe(422)
    const evidence = path.join(folder, 'w', 'evidence')
    const texts = readdirSync(evidence).map((name) => readFileSync(path.join(evidence, name), 'utf8'))
    for (const { note } of [fork, larger])
      expect(texts.filter((text) => text.includes(note.text))).toHaveLength(1)
    expect(texts).toHaveLength(101)
  })

  test('reports a contradiction even if it cannot store the evidence', async () => {
    await geoWitness('init', NAME)
    const log = await newLog()
    const witness = await serve(log)
    await log.append(...entries(0, 3)).sign()
    expect((await log.submit(witness, 0)).status).toBe(200)
    writeFileSync(path.join(folder, 'w', 'evidence'), '')
    const fork = log.copy([...entries(0, 2), entry('another')])
    await fork.sign()
    expect((await fork.submit(witness, 3)).status).toBe(409)
    await fork.append(entry(5)).sign()
    expect((await fork.submit(witness, 3)).status).toBe(422)
  })

  test('leaves no part of a key, a lock or evidence on a full disk', async () => {
    const stored = new Folder(path.join(folder, 'full'))
    await stored.create(NAME)
    const other = new Folder(path.join(folder, 'other'))
    const { open } = promises
    promises.open = async (file, flags, mode) => {
      const handle = await open(file, flags, mode)
      handle.writeFile = async () => {
        await handle.write('part')
        throw Object.assign(new Error('full'), { code: 'ENOSPC' })
      }
      return handle
    }
    syncBuiltinESMExports()
    try {
      const full = { code: 'ENOSPC' }
      await expect(other.create(NAME)).rejects.toMatchObject(full)
      await expect(stored.lock()).rejects.toMatchObject(full)
      await expect(stored.keepEvidence('log', 'fork', 'text')).rejects.toMatchObject(full)
    } finally {
      promises.open = open
      syncBuiltinESMExports()
    }
    const files = ['other', 'full', 'full/evidence'].map((name) => readdirSync(path.join(folder, name)))
    expect(files).toEqual([[], ['evidence', 'key'], []])
  })

  test('reports no error if a client ends its request early', async () => {
    const errors: unknown[] = []
    const server = serveWitness({} as Witness, (error) => errors.push(error)).listen(0, '127.0.0.1')
    ends.push(async () => server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const sent = request({ port, path: '/add-checkpoint', method: 'POST', headers: { 'content-length': 9 } })
    sent.on('error', () => {}).write('old')
    const [received] = (await once(server, 'request')) as [IncomingMessage]
    sent.destroy()
    await new Promise((resolve) => received.once('close', resolve))
    await new Promise((resolve) => setImmediate(resolve))
    expect(errors).toEqual([])
  })

  test('does not cosign a checkpoint that it cannot store', async () => {
    await geoWitness('init', NAME)
    const log = await newLog()
    const witness = await serve(log)
    const key = await log.append(entry(0)).sign()
    // A directory with the name of the file makes every write fail.
    const name = createHash('sha256').update(key.origin).digest('hex')
    mkdirSync(path.join(folder, 'w', 'checkpoints', name))
    await expect(log.submit(witness, 0)).resolves.toMatchObject({ status: 500 })
    expect((await fetch(`${witness.url}/${encodeURIComponent(log.key.name)}/checkpoint`)).status).toBe(404)
  })
})
