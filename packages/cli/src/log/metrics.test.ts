// SPDX-License-Identifier: MIT
import {
  lstatSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { serve } from '../../../../test/http-server'
import { UsageError } from '../exit'
import { replaceFile } from '../files'
import { Metrics, publish } from './metrics'

test('metrics are rejected for a port that does not exist or is in use, as invalid usage', async () => {
  const used = new URL(await serve((_, response) => response.end())).port
  for (const port of ['65536', '99999999', used])
    await expect(publish(new Metrics(), port, (file) => file)).rejects.toThrow(UsageError)
})

test('a state or metrics file behind a link is replaced, and the link is kept', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'geo-metrics-'))
  const [file, link] = ['file', 'link'].map((name) => path.join(folder, name)) as [string, string]
  writeFileSync(file, 'old')
  symlinkSync(file, link)
  await replaceFile(link, 'new')
  expect([lstatSync(link).isSymbolicLink(), readFileSync(file, 'utf8')]).toEqual([true, 'new'])
  rmSync(folder, { recursive: true })
})

test('a part has a name that its file explains, and is removed after an error', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'geo-metrics-'))
  const long = `${'é'.repeat(125)}.json`
  for (const name of ['state.json', long]) {
    let parts: string[] = []
    const cut = new Error('cut off')
    async function* content() {
      yield Buffer.from('a')
      while (parts.length === 0) {
        await turn()
        parts = readdirSync(folder)
      }
      throw cut
    }
    await expect(replaceFile(path.join(folder, name), content())).rejects.toBe(cut)
    expect(parts).toEqual([expect.stringMatching(/\.[0-9a-f]{8}\.part$/)])
    expect(parts[0]!.slice(0, 10)).toBe(name.slice(0, 10))
    expect(readdirSync(folder)).toEqual([])
    await replaceFile(path.join(folder, name), 'whole')
    expect(readdirSync(folder)).toEqual([name])
    rmSync(path.join(folder, name))
  }
  rmSync(folder, { recursive: true })
})

test('a state or metrics file that two runs replace at the same time has the content of one', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'geo-metrics-'))
  const file = path.join(folder, 'state.json')
  const contents = Array.from({ length: 20 }, (_, i) => `${i} `.repeat(100_000))
  await Promise.all(contents.map((content) => replaceFile(file, content)))
  expect(contents.includes(readFileSync(file, 'utf8'))).toBe(true)
  expect(readdirSync(folder)).toEqual(['state.json'])
  rmSync(folder, { recursive: true })
})
