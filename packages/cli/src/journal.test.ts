// SPDX-License-Identifier: MIT
import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  promises,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { BatchAnswer } from '@geospatial-attestation/client'
import { afterAll, expect, test } from 'vitest'
import { UsageError } from './exit'
import { createFile } from './files'
import { openJournal } from './journal'

const folder = mkdtempSync(path.join(tmpdir(), 'geo-journal-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
const at = (file: string) => file
const fresh = () => path.join(folder, `answers-${++files}.ndjson`)
const answer = (deadline: number) => ({ chainId: 1, deadline, results: [] }) as unknown as BatchAnswer
const landed = { uid: '0x1', chainId: 1, transactionHash: '0x2', blockNumber: 3, already: false }
/** Returns the answers that a new run would find in the journal. */
async function found(output: string) {
  const journal = await openJournal(output, at)
  await journal.close()
  return journal.signed
}

test('the journal restores signed, re-signed or landed answers, and omits dropped answers', async () => {
  const output = fresh()
  const journal = await openJournal(output, at)
  expect(journal.signed).toEqual([])
  const first = await journal.sign(['a', 'b'], answer(1))
  const second = await journal.sign(['c'], answer(2))
  const third = await journal.sign(['d'], answer(3))
  expect([first.id, second.id, third.id]).toEqual([1, 2, 3])
  await journal.sign(['c'], answer(4), second.id)
  await journal.land(first.id, [landed, landed])
  await journal.drop(third.id)
  await journal.close()
  expect(await found(output)).toEqual([
    { id: 1, keys: ['a', 'b'], answer: answer(1), landed: [landed, landed] },
    { id: 2, keys: ['c'], answer: answer(4) },
  ])
  // The id of dropped answers is not reused.
  const again = await openJournal(output, at)
  expect((await again.sign(['e'], answer(5))).id).toBe(4)
  await again.close()
})

test('the journal ignores an entry that was cut off at any byte', async () => {
  const output = fresh()
  const journal = await openJournal(output, at)
  await journal.sign(['ä'], answer(1))
  await journal.close()
  const whole = readFileSync(`${output}.journal`)
  const entry = Buffer.from(`${JSON.stringify({ id: 2, keys: ['ö'], answer: answer(2) })}\n`)
  for (let cut = 1; cut < entry.length; cut++) {
    writeFileSync(`${output}.journal`, whole)
    appendFileSync(`${output}.journal`, entry.subarray(0, cut))
    expect(await found(output)).toHaveLength(1)
    expect(readFileSync(`${output}.journal`).equals(whole)).toBe(true)
  }
  appendFileSync(`${output}.journal`, entry)
  expect(await found(output)).toHaveLength(2)
})

test('the journal starts over if its first line was cut off, and rejects other files', async () => {
  const output = fresh()
  writeFileSync(`${output}.journal`, '{"journal":"geo ba')
  expect(await found(output)).toEqual([])
  for (const other of [
    '{"journal":"geo batch","version":2}\n',
    'text\n',
    '{"journal":"geo batch","version":1}\ntext\n',
  ]) {
    writeFileSync(`${output}.journal`, other)
    await expect(openJournal(output, at)).rejects.toThrow(UsageError)
    expect(readFileSync(`${output}.journal`, 'utf8')).toBe(other)
    // A rejected file leaves no lock behind.
    expect(existsSync(`${output}.journal.lock`)).toBe(false)
  }
})

test('the journal can be open in one process at a time', async () => {
  const output = fresh()
  const journal = await openJournal(output, at)
  await expect(openJournal(output, at)).rejects.toThrow(`process ${process.pid}`)
  await journal.close()
  await (await openJournal(output, at)).close()
})

test('the lock of an ended process is taken over by one of several runs', { tags: ['slow'] }, async () => {
  const ended = spawnSync(process.execPath, ['-e', '']).pid
  for (let round = 0; round < 20; round++) {
    const output = fresh()
    writeFileSync(`${output}.journal.lock`, String(ended))
    const all = await Promise.allSettled([1, 2, 3].map(() => openJournal(output, at)))
    const open = all.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    expect(open).toHaveLength(1)
    await open[0]!.close()
    expect(existsSync(`${output}.journal.lock`)).toBe(false)
  }
})

test('the lock of a process that is about to write its id stays', async () => {
  const output = fresh()
  writeFileSync(`${output}.journal.lock`, '')
  const opening = openJournal(output, at)
  setTimeout(() => writeFileSync(`${output}.journal.lock`, String(process.ppid)), 20)
  await expect(opening).rejects.toThrow(`process ${process.ppid}`)
})

test('a lock that a full disk does not hold is removed', async () => {
  const output = fresh()
  writeFileSync(`${output}.journal.lock`, '')
  const { writeFile } = promises
  promises.writeFile = async (file, _, options) => {
    await writeFile(file, '', options)
    throw Object.assign(new Error('full'), { code: 'ENOSPC', syscall: 'write' })
  }
  syncBuiltinESMExports()
  try {
    await expect(openJournal(output, at)).rejects.toMatchObject({ code: 'ENOSPC' })
  } finally {
    promises.writeFile = writeFile
    syncBuiltinESMExports()
  }
  await expect(found(output)).resolves.toEqual([])
})

test('a file that is created survives a power failure: its folder is synced', async () => {
  const name = fresh()
  const synced: unknown[] = []
  const { open } = promises
  promises.open = async (file, flags, mode) => {
    const handle = await open(file, flags, mode)
    const sync = handle.sync.bind(handle)
    handle.sync = async () => sync().finally(() => synced.push(file))
    return handle
  }
  syncBuiltinESMExports()
  try {
    await createFile(name, 'text')
  } finally {
    promises.open = open
    syncBuiltinESMExports()
  }
  expect(synced).toEqual([path.dirname(name)])
})

test('the lock of another process with the same id is taken over, and that process stops', async () => {
  const output = fresh()
  const [lock, other] = [`${output}.journal.lock`, `${process.pid} another`]
  writeFileSync(lock, String(process.pid))
  const journal = await openJournal(output, at)
  await journal.sign(['a'], answer(1))
  // The other process takes over in turn, as in a second container.
  writeFileSync(lock, other)
  const size = statSync(`${output}.journal`).size
  await expect(journal.sign(['b'], answer(2))).rejects.toThrow(UsageError)
  await journal.close()
  expect([statSync(`${output}.journal`).size, readFileSync(lock, 'utf8')]).toEqual([size, other])
})
