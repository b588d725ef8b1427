import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import {
  formatNote,
  formatSignerKey,
  formatVerifierKey,
  parseCheckpoint,
  parseNote,
  signNote,
  signatureBy,
  tilePath,
  toBase64,
} from '../src/tlog'
import { temporaryFolder } from './database'
import { hunt } from './seed'
import { MemoryLog, seededKey, allTiles } from './tlog'

/**
 * Tests checkpoints, tiles and proofs against the reference implementation, golang.org/x/mod/sumdb, of the
 * Debian packages golang-go and golang-golang-x-mod-dev.
 */
const GOPATH = '/usr/share/gocode'
const folder = temporaryFolder()
const program = path.join(folder, 'reference')
const hasGo = existsSync('/usr/bin/go') && existsSync(`${GOPATH}/src/golang.org/x/mod/sumdb/tlog`)
if (hasGo)
  execFileSync('/usr/bin/go', ['build', '-o', program, path.resolve('test/tlog-reference.go')], {
    env: { ...process.env, GOPATH, GO111MODULE: 'off', GOCACHE: path.join(folder, 'cache'), GOFLAGS: '' },
    stdio: ['ignore', 'inherit', 'inherit'],
  })

/** Writes a log and its proofs, and runs the reference implementation on them. */
async function verified(
  log: MemoryLog,
  proved: readonly number[],
  change: (file: string, content: Buffer) => Buffer,
) {
  const witness = await seededKey('witness.example/w1', 'cosignature', log.size)
  await log.sign()
  log.note.signatures.push(await signNote(log.note.text, witness, 1_800_000_000))
  const run = path.join(folder, String(Math.random()))
  const write = (file: string, content: Uint8Array | string) => {
    const target = path.join(run, file)
    mkdirSync(path.dirname(target), { recursive: true })
    writeFileSync(target, change(file, Buffer.from(content as Uint8Array)))
  }
  write('checkpoint', formatNote(log.note))
  for (const tile of allTiles(log.size)) write(tilePath(tile), log.read(tilePath(tile))!)
  const proofs = proved.map(async (index) => ({ index, hashes: (await log.inclusion(index)).map(toBase64) }))
  const trees = proved.map(async (index) => {
    const old = log.copy(log.entries.slice(0, index + 1))
    const { root, size } = await old.sign()
    return { size, root: toBase64(root), hashes: (await log.consistency(size)).map(toBase64) }
  })
  const cases = {
    ...{ verifierKey: formatVerifierKey(log.key), signerKey: formatSignerKey(log.key) },
    witness: { name: witness.name, id: witness.id, key: toBase64(witness.publicKey) },
    ...{
      entries: log.entries.map(toBase64),
      proofs: await Promise.all(proofs),
      trees: await Promise.all(trees),
    },
  }
  write('cases.json', JSON.stringify(cases))
  return JSON.parse(
    execFileSync(program, [run], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }),
  ) as {
    signatures: number
    proofs: number
    trees: number
    signed: string
  }
}

if (!hasGo) test.skip('the reference implementation needs golang-go and golang-golang-x-mod-dev', () => {})
else {
  hunt(
    'the reference implementation verifies and reproduces checkpoints, tiles and proofs',
    8,
    async ({ cases, random }) => {
      const sizes = [1, 2, 255, 256, 257, 1_000, 65_537]
      while (sizes.length < 7 + cases) sizes.push(1 + Math.floor(random() * 3_000))
      for (const size of sizes) {
        const log = new MemoryLog(await seededKey('geo.example/log/v0', 'ed25519', size))
        log.append(...Array.from({ length: size }, () => Buffer.from(`entry ${random()}`)))
        const proved = [0, size - 1, ...Array.from({ length: 3 }, () => Math.floor(random() * size))]
        const { signed, ...counts } = await verified(log, proved, (_, content) => content)
        expect([size, counts]).toEqual([size, { signatures: 2, proofs: 5, trees: 5 }])
        // Ed25519 signatures are deterministic, so the reference implementation writes the same bytes.
        const own = { ...log.note, signatures: log.note.signatures.slice(0, 1) }
        expect(signed).toBe(formatNote(own))
        expect(await signatureBy(parseNote(signed), log.key)).toBeDefined()
        expect(parseCheckpoint(signed).size).toBe(size)
      }
    },
  )

  test('the reference implementation rejects a changed checkpoint, tile or cosignature', async () => {
    const log = new MemoryLog(await seededKey('geo.example/log/v0', 'ed25519', 3))
    log.append(...Array.from({ length: 300 }, (_, at) => Buffer.from(`entry ${at}`)))
    const flipped = (name: string, at: number) => (file: string, content: Buffer) => {
      if (file === name) content[(at + content.length) % content.length]! ^= 1
      return content
    }
    for (const [name, at] of [
      ['checkpoint', 0],
      ['checkpoint', -10],
      ['tile/0/000', 5],
      ['tile/0/001.p/44', -1],
    ] as const)
      await expect(verified(log, [7, 299], flipped(name, at))).rejects.toMatchObject({ status: 1 })
  })
}
