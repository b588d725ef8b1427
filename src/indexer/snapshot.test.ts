import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { takeSnapshot } from './snapshot'
import { SnapshotError } from './snapshot-files'

test('takeSnapshot rejects a folder that is a dangling symbolic link, before it queries the database', async () => {
  const root = mkdtempSync(path.join(tmpdir(), 'snapshot-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const folder = path.join(root, 'link')
  symlinkSync(path.join(root, 'missing'), folder)
  await expect(takeSnapshot({} as never, [], folder, () => {})).rejects.toBeInstanceOf(SnapshotError)
})
