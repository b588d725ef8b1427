import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import {
  encodeBundle,
  formatNote,
  formatSignerKey,
  formatVerifierKey,
  leafHash,
  parseCheckpoint,
  parseNote,
  signNote,
  signatureBy,
  tilePath,
  toBase64,
  toHex,
} from '../src/tlog'
import { rows, temporaryFolder } from './database'
import { serve } from './http-server'
import { positions } from './positions'
import { hunt } from './seed'
import { MemoryLog, seededKey, allTiles } from './tlog'
import { LOCAL_CHAIN, startTestWorld, type TestWorld } from './world'

/**
 * Tests checkpoints, tiles, bundles and proofs against the reference implementation,
 * golang.org/x/mod/sumdb, of the Debian packages golang-go and golang-golang-x-mod-dev.
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

/**
 * Commits entries to the log of a running service. Returns their leaf hashes once its tree has them, and with
 * them `size` entries.
 */
async function append(world: TestWorld, entries: readonly Uint8Array[], size: number): Promise<string[]> {
  const leaves = entries.map((entry) => leafHash(entry))
  for (let at = 0; at < entries.length; at += 1_000) {
    const group = [encodeBundle(entries.slice(at, at + 1_000)), Buffer.concat(leaves.slice(at, at + 1_000))]
    const [row] = await rows<{ origin: string | null }>(
      world.databaseUrl,
      'SELECT log_append($1, $2) AS origin',
      group,
    )
    expect(row!.origin).not.toBeNull()
  }
  await expect.poll(async () => (await world.get('/log/v0')).body.size, { timeout: 60_000 }).toBe(size)
  return leaves.map(toHex)
}

/** Runs the reference implementation on a log that is served. */
const verifiedAt = async (url: string, verifierKey: string, leaves: readonly string[]) =>
  JSON.parse((await promisify(execFile)(program, [url, verifierKey, ...leaves])).stdout) as {
    size: number
    tiles: string[]
    proofs: number
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

  test('the reference implementation verifies what a service serves, and detects each changed file', async () => {
    const world = await startTestWorld()
    try {
      const url = `${world.url}/log/v0`
      const geometry = { type: 'Polygon', coordinates: [positions('2 48, 3 48, 3 49, 2 49, 2 48')] }
      const { body } = await world.post('/compute/v0/area', { chainId: LOCAL_CHAIN.id, geometry })
      const { key } = (await world.get('/log/v0')).body
      const leaves = [body.log.leaf as string]
      const entryAt = (_: unknown, at: number) => Buffer.alloc(1 + ((at * 7_919) % 300), `entry ${at},`)
      const first = [Buffer.alloc(65_535, 'x'), ...Array.from({ length: 298 }, entryAt)]
      leaves.push(...(await append(world, first, 300)))
      const tilesOf = (size: number) =>
        allTiles(size)
          .filter(({ level }) => level !== 'entries')
          .map(tilePath)
      const isVerified = async (size: number, proved: readonly string[]) => {
        const { tiles, ...counts } = await verifiedAt(url, key, proved)
        expect(counts).toEqual({ size, proofs: proved.length })
        // The reference implementation also reads the narrower tiles of each partial one.
        expect(tiles).toEqual(expect.arrayContaining(tilesOf(size)))
      }
      await isVerified(300, leaves)

      for (const [file, at] of [
        ['checkpoint', 20],
        ['tile/0/000', 5],
        ['tile/0/001.p/44', -1],
        ['tile/1/000.p/1', 31],
        ['tile/entries/000', 100],
        ['tile/entries/001.p/44', -1],
        [`proof/${leaves[0]}`, 30],
        [`proof/${leaves[0]}`, 60],
        [`proof/${leaves[0]}`, -10],
      ] as const) {
        const changed = await serve((request, response) => {
          const respond = async () => {
            const content = Buffer.from(await (await fetch(url + request.url)).arrayBuffer())
            if (request.url === `/${file}`) content[(at + content.length) % content.length]! ^= 1
            response.end(content)
          }
          respond().catch(() => response.destroy())
        })
        const ended = verifiedAt(changed, key, leaves.slice(0, 1))
        expect([file, await ended.catch(({ code }: { code: number }) => code)]).toEqual([file, 1])
      }

      // Tiles of all levels, and both full and partial tiles of levels 0 and 1.
      const more = Array.from({ length: 65_536 }, (_, at) => entryAt(undefined, at + 298))
      leaves.push(...(await append(world, more, 65_836)))
      const proved = leaves.filter((_, at) => at % 4_096 < 2).concat(leaves.at(-1)!)
      await isVerified(65_836, proved)
    } finally {
      await world.stop()
    }
  }, 300_000)
}
