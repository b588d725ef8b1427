// SPDX-License-Identifier: MIT
import { execFileSync } from 'node:child_process'
import {
  closeSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  readSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { geoHere } from '../test/here'

const folder = mkdtempSync(path.join(tmpdir(), 'geo-records-'))
afterAll(() => rmSync(folder, { recursive: true }))
afterEach(() => void vi.unstubAllGlobals())

const CSV = 'uid\n0x1\n'
const CSV_OF_SERVICE = ['records', '--format', 'csv', '--url', 'http://service']
/** Runs geo records in the folder. Returns the filters of its request. */
async function records(...argv: string[]): Promise<URLSearchParams> {
  const asked: URLSearchParams[] = []
  vi.stubGlobal('fetch', async ({ url }: Request) => {
    asked.push(new URL(url).searchParams)
    return new Response(CSV, { headers: { 'content-type': 'text/csv' } })
  })
  const { code, stderr } = await geoHere([...CSV_OF_SERVICE, ...argv], { cwd: folder })
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('geo:')])
  return asked[0]!
}

test('geo records writes to the target of a link, and keeps the link', async () => {
  const [file, link] = ['real.csv', 'link.csv'].map((name) => path.join(folder, name)) as [string, string]
  writeFileSync(file, 'old')
  symlinkSync(file, link)
  await records('-o', 'link.csv')
  expect([lstatSync(link).isSymbolicLink(), readFileSync(file, 'utf8')]).toEqual([true, CSV])
})

test('geo records creates the target of a link', async () => {
  const [file, link] = ['new.csv', 'dangling.csv'].map((name) => path.join(folder, name)) as [string, string]
  symlinkSync('new.csv', link)
  await records('-o', 'dangling.csv')
  expect([lstatSync(link).isSymbolicLink(), readFileSync(file, 'utf8')]).toEqual([true, CSV])
})

test.runIf(process.platform === 'linux')('geo records appends to an open file', async () => {
  const file = path.join(folder, 'all.csv')
  writeFileSync(file, 'old\n')
  const open = openSync(file, 'a')
  await records('-o', `/dev/fd/${open}`)
  closeSync(open)
  expect(readFileSync(file, 'utf8')).toBe(`old\n${CSV}`)
})

test.runIf(process.platform !== 'win32')('geo records writes to a pipe or device, and keeps it', async () => {
  const fifo = path.join(folder, 'fifo')
  execFileSync('mkfifo', [fifo])
  // A reader, so that the writer does not wait for one.
  const reader = openSync(fifo, 'r+')
  await records('-o', 'fifo')
  const content = Buffer.alloc(CSV.length)
  expect(lstatSync(fifo).isFIFO()).toBe(true)
  readSync(reader, content)
  closeSync(reader)
  expect(String(content)).toBe(CSV)
})

test('geo records writes a whole file while another run writes it', async () => {
  const parts: ReadableStreamDefaultController<Uint8Array>[] = []
  vi.stubGlobal('fetch', async () => {
    const body = new ReadableStream<Uint8Array>({ start: (part) => void parts.push(part) })
    return new Response(body, { headers: { 'content-type': 'text/csv' } })
  })
  const contents = () =>
    readdirSync(folder)
      .filter((name) => name === 'twice.csv' || name.endsWith('.part'))
      .sort()
      .map((name) => readFileSync(path.join(folder, name), 'utf8'))
  const begin = async (first: string) => {
    const count = parts.length
    const ended = geoHere([...CSV_OF_SERVICE, '-o', 'twice.csv'], { cwd: folder })
    await vi.waitUntil(() => parts.length > count)
    parts[count]!.enqueue(Buffer.from(first))
    // The last byte is written at the end.
    await vi.waitUntil(() => contents().includes(first.trim()))
    return async (last: string) => {
      parts[count]!.enqueue(Buffer.from(last))
      parts[count]!.close()
      return [(await ended).code, ...contents()]
    }
  }
  const slow = await begin('uid\n0x1\n')
  const fast = await begin('uid\n0x2\n')
  expect(await fast('0x3\n')).toEqual([0, 'uid\n0x2\n0x3\n', 'uid\n0x1'])
  expect(await slow('0x4\n')).toEqual([0, 'uid\n0x1\n0x4\n'])
})

test('geo records reads a shape from a file whose name has parentheses', async () => {
  writeFileSync(path.join(folder, 'field (1).wkt'), 'POINT(1 2)\n')
  expect((await records('--intersects', 'field (1).wkt')).get('intersects')).toBe('POINT(1 2)')
  expect((await records('--intersects', 'POINT(3 4)')).get('intersects')).toBe('POINT(3 4)')
})

test('geo records reads a shape from a file in UTF-16, as PowerShell writes it', async () => {
  const bytes = Buffer.from('\ufeffPOINT(1 2)\r\n', 'utf16le')
  for (const content of [bytes, bytes.swap16()]) {
    writeFileSync(path.join(folder, 'point.wkt'), content)
    expect((await records('--intersects', 'point.wkt')).get('intersects')).toBe('POINT(1 2)')
  }
})
