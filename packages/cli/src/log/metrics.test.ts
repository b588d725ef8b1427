// SPDX-License-Identifier: MIT
import { lstatSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { serve } from '../../../../test/http-server'
import { UsageError } from '../exit'
import { Metrics, publish, replaceFile } from './metrics'

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
