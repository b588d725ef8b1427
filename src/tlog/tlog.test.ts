import { randomBytes } from 'node:crypto'
import { describe, expect, test, vi } from 'vitest'
import { EFFORT, hunt } from '../../test/seed'
import { MTH, PATH, SUBPROOF, allTiles, sha256, split } from '../../test/tlog'
import {
  EMPTY_ROOT,
  TlogError,
  TreeEdge,
  consistencyProof,
  cosignatureTime,
  decodeBundle,
  encodeBundle,
  formatCheckpoint,
  formatNote,
  formatProof,
  formatSignature,
  formatSignerKey,
  formatVerifierKey,
  formatWitnessRequest,
  generateSignerKey,
  inclusionProof,
  leafHash,
  parseCheckpoint,
  parseNote,
  parsePolicy,
  parseProof,
  parseSignerKey,
  parseTilePath,
  parseVerifierKey,
  parseWitnessRequest,
  signNote,
  signatureBy,
  signersOf,
  tilePath,
  toHex,
  treeRoot,
  verifyConsistency,
  verifyInclusion,
  withTiles,
  type HashReader,
  type Tile,
} from './index'

const entriesOf = (count: number) =>
  Array.from({ length: count }, (_, index) => Buffer.from(`entry ${index}`))
const leavesOf = (entries: Uint8Array[]) => entries.map((entry) => sha256(Buffer.of(0), entry))
const hex = (hashes: readonly Uint8Array[]) => hashes.map(toHex)
/** Edge of a log with these leaf hashes, and its tiles by path, as its server stores them. */
function tilesOf(leaves: Uint8Array[]) {
  const edge = new TreeEdge()
  const tiles = new Map<string, Uint8Array>()
  for (const leaf of leaves) edge.append(leaf, (tile, hashes) => tiles.set(tilePath(tile), hashes))
  for (const { tile, hashes } of edge.partialTiles()) tiles.set(tilePath(tile), hashes)
  const source = (wanted: readonly Tile[]) =>
    Promise.resolve(wanted.map((tile) => tiles.get(tilePath(tile))!))
  return { edge, tiles, source }
}
const fieldOf = (call: () => unknown) => {
  try {
    call()
  } catch (error) {
    return error instanceof TlogError ? error.field : error
  }
  return 'no error'
}

describe('the tree of a log', () => {
  test('has the roots of the vectors of Certificate Transparency', () => {
    const inputs = [
      ...['', '00', '10', '2021', '3031', '40414243', '5051525354555657'],
      '606162636465666768696a6b6c6d6e6f',
    ]
    const edge = new TreeEdge()
    expect(toHex(edge.root())).toBe(sha256().toString('hex'))
    expect(toHex(EMPTY_ROOT)).toBe(sha256().toString('hex'))
    const roots = inputs.map((input) => {
      edge.append(leafHash(Buffer.from(input, 'hex')))
      return toHex(edge.root())
    })
    expect(roots).toEqual([
      '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
      'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
      'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
      '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
      '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
      'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
      '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
    ])
  })

  test('has the proofs of RFC 6962, which verify, and no other proofs', async () => {
    for (let size = 1; size <= (EFFORT < 1 ? 20 : 40); size++) {
      const leaves = leavesOf(entriesOf(size))
      const { edge, source } = tilesOf(entriesOf(size).map(leafHash))
      const head = { size, root: MTH(leaves) }
      expect(toHex(edge.root())).toBe(toHex(head.root))
      for (let m = 0; m < size; m++) {
        const proof = await withTiles(source, size, (read) => inclusionProof(read, m, size))
        expect(hex(proof)).toEqual(hex(PATH(m, leaves)))
        for (let other = 0; other <= size; other++)
          expect(verifyInclusion(leaves[m]!, other, head, proof)).toBe(other === m)
        expect(verifyInclusion(leaves[m]!, m, head, [...proof, head.root])).toBe(false)
        expect(proof.length > 0 && verifyInclusion(leaves[m]!, m, head, proof.slice(1))).toBe(false)
      }
      for (let old = 0; old <= size; old++) {
        const proof = await withTiles(source, size, (read) => consistencyProof(read, old, size))
        const before = { size: old, root: MTH(leaves.slice(0, old)) }
        expect(hex(proof)).toEqual(old === 0 ? [] : hex(SUBPROOF(old, leaves, true)))
        expect(verifyConsistency(before, head, proof)).toBe(true)
        expect(verifyConsistency(before, head, [...proof, head.root])).toBe(false)
        if (old > 0 && old < size) {
          for (const at of proof.keys())
            expect(verifyConsistency(before, head, proof.toSpliced(at, 1))).toBe(false)
          const another = { size: old, root: MTH([...leaves.slice(0, old - 1), sha256()]) }
          expect(verifyConsistency(another, head, proof)).toBe(false)
          expect(verifyConsistency(before, { size, root: another.root }, proof)).toBe(false)
          expect(verifyConsistency(head, before, proof)).toBe(false)
        }
      }
    }
    expect(fieldOf(() => inclusionProof(() => EMPTY_ROOT, 3, 3))).toBe('index')
    expect(fieldOf(() => consistencyProof(() => EMPTY_ROOT, 4, 3))).toBe('old size')
  })

  hunt(
    'has tiles of two levels with the proofs of RFC 6962',
    1,
    async ({ cases, random }) => {
      const leaves = entriesOf(70_000).map(leafHash)
      const complete = new Map<string, Uint8Array>()
      const hash = (start: number, end: number): Uint8Array => {
        const key = `${start}-${end}`
        if (!complete.has(key))
          complete.set(
            key,
            end - start === 1
              ? leaves[start]!
              : sha256(
                  Buffer.of(1),
                  hash(start, start + split(end - start)),
                  hash(start + split(end - start), end),
                ),
          )
        return complete.get(key)!
      }
      const sizes = [256, 257, 65_535, 65_536, 65_537, 70_000]
      for (let tried = 0; tried < cases; tried++) sizes.push(1 + Math.floor(random() * leaves.length))
      for (const size of sizes) {
        const { edge, source, tiles } = tilesOf(leaves.slice(0, size))
        const head = { size, root: hash(0, size) }
        expect(toHex(edge.root())).toBe(toHex(head.root))
        expect(
          new Set(
            allTiles(size)
              .filter(({ level }) => level !== 'entries')
              .map(tilePath),
          ),
        ).toEqual(new Set(tiles.keys()))
        expect(toHex(await withTiles(source, size, (read) => treeRoot(read, size)))).toBe(toHex(head.root))
        const resumed = await TreeEdge.read(source, size)
        expect([resumed.size, toHex(resumed.root())]).toEqual([size, toHex(head.root)])
        for (const m of [0, size - 1, Math.floor(random() * size)]) {
          const proof = await withTiles(source, size, (read) => inclusionProof(read, m, size))
          expect(verifyInclusion(leaves[m]!, m, head, proof)).toBe(true)
          const old = { size: m + 1, root: hash(0, m + 1) }
          const consistency = await withTiles(source, size, (read) => consistencyProof(read, m + 1, size))
          expect(verifyConsistency(old, head, consistency)).toBe(true)
        }
        // An edge that is read from tiles, and then appends the remaining leaves, has the root of the tree.
        const before = Math.floor(random() * size)
        const from = await TreeEdge.read(tilesOf(leaves.slice(0, before)).source, before)
        for (const leaf of leaves.slice(before, size)) from.append(leaf)
        expect(toHex(from.root())).toBe(toHex(head.root))
      }
    },
    ['slow'],
  )

  test('rejects tiles of another length', async () => {
    const { source } = tilesOf(entriesOf(300).map(leafHash))
    const short = async (wanted: readonly Tile[]) => (await source(wanted)).map((tile) => tile.subarray(1))
    const read = (hashes: HashReader) => treeRoot(hashes, 300)
    await expect(withTiles(short, 300, read)).rejects.toMatchObject({
      field: 'tile/1/000.p/1',
    })
    await expect(TreeEdge.read(short, 300)).rejects.toMatchObject({ field: 'tile/0/001.p/44' })
  })
})

describe('the tiles of a log', () => {
  test('have the paths of c2sp.org/tlog-tiles', () => {
    const paths: [Tile, string][] = [
      [{ level: 0, index: 0, width: 256 }, 'tile/0/000'],
      [{ level: 0, index: 1_234_067, width: 256 }, 'tile/0/x001/x234/067'],
      [{ level: 63, index: 999, width: 255 }, 'tile/63/999.p/255'],
      [{ level: 'entries', index: 1_000, width: 1 }, 'tile/entries/x001/000.p/1'],
    ]
    for (const [tile, path] of paths) {
      expect(tilePath(tile)).toBe(path)
      expect(parseTilePath(path)).toEqual(tile)
    }
    for (const path of [
      ...['tile/0/0', 'tile/0/x000/001', 'tile/00/001', 'tile/64/001', 'tile/0/001.p/0', 'tile/0/001.p/256'],
      ...['tile/0/001.p/257', 'tile/entries/001.p/999'],
      ...['tile/0/001.p/01', 'tile/0/001/002', 'tile/0/x001', 'tile/0/001.p', '/tile/0/001', 'tile/0/001\n'],
      ...['tile/0/x999/x999/x999/x999/x999/999', 'tile/entry/000', 'tile/-1/000'],
    ])
      expect([path, parseTilePath(path)]).toEqual([path, undefined])
  })

  test('bundle entries with their lengths', () => {
    const entries = [Buffer.alloc(0), Buffer.from('a'), randomBytes(65_535)]
    const bundle = encodeBundle(entries)
    expect(Buffer.from(bundle.subarray(0, 7)).toString('hex')).toBe('0000000161ffff')
    expect(hex(decodeBundle(bundle, 3))).toEqual(hex(entries))
    for (const width of [2, 4]) expect(fieldOf(() => decodeBundle(bundle, width))).toBe('bundle')
    for (const cut of [1, bundle.length - 1])
      expect(fieldOf(() => decodeBundle(bundle.subarray(0, cut), 3))).toBe('bundle')
    expect(fieldOf(() => decodeBundle(Buffer.concat([bundle, Buffer.of(0)]), 3))).toBe('bundle')
    expect(fieldOf(() => encodeBundle([Buffer.alloc(65_536)]))).toBe('entry')
  })
})

/** Example of Go's package golang.org/x/mod/sumdb/note. */
const GO = {
  skey: 'PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz',
  vkey: 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW',
  text: `If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n`,
  line: '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n',
}

describe('a signed note', () => {
  test('has the keys and the signature of the example of Go', async () => {
    const [verifier, signer] = [parseVerifierKey(GO.vkey), await parseSignerKey(GO.skey)]
    expect(formatVerifierKey(verifier)).toBe(GO.vkey)
    expect(formatVerifierKey(signer)).toBe(GO.vkey)
    expect(formatSignerKey(signer)).toBe(GO.skey)
    expect(formatSignature(await signNote(GO.text, signer))).toBe(GO.line)
    const note = parseNote(`${GO.text}\n${GO.line}`)
    expect(note.text).toBe(GO.text)
    expect(formatNote(note)).toBe(`${GO.text}\n${GO.line}`)
    expect(await signatureBy(note, verifier)).toBe(note.signatures[0])
    await expect(signatureBy({ ...note, text: `${GO.text}\n` }, verifier)).rejects.toThrow(TlogError)
  })

  test('has an em dash, a name and an ID in each signature', () => {
    const note = `a\n\nb\n\n${GO.line}${GO.line}`
    expect(parseNote(note)).toMatchObject({ text: 'a\n\nb\n', signatures: [{ id: 0xc74f20a3 }, {}] })
    for (const [field, text] of [
      ['note', 'a\n'],
      ['note', `a\n${GO.line}`],
      ['note', `a\t\n\n${GO.line}`],
      ['note', `a\ud800\n\n${GO.line}`],
      ['note', `${'a'.repeat(1_000_000)}\n\n${GO.line}`],
      ['signatures', 'a\n\n'],
      ['signatures', `a\n\n${GO.line.trimEnd()}`],
      ['signatures', `a\n\n${GO.line.repeat(101)}`],
      ['signature', `a\n\n${GO.line.replace('—', '-')}`],
      ['signature', `a\n\n${GO.line.replace(' x08', '  x08')}`],
      ['signature', `a\n\n${GO.line.replace('nAM=', 'nAN=')}`],
      ['signature', `a\n\n${GO.line.replace('nAM=', 'nAM')}`],
      ['signature', 'a\n\n— name AAAAAA==\n'],
      ['key name of the signature', `a\n\n${GO.line.replace('Peter', 'Peter+')}`],
      ['key name of the signature', `a\n\n${GO.line.replace('Peter', 'Peter\u2003')}`],
    ] as const)
      expect([text.slice(0, 200), fieldOf(() => parseNote(text))]).toEqual([text.slice(0, 200), field])
    expect(fieldOf(() => parseNote(`a\n\n${GO.line.repeat(100)}`))).toBe('no error')
  })

  test('rejects keys with another ID, type or form', async () => {
    for (const text of [
      ...['', GO.vkey.replace('c74f20a3', 'c74f20a4'), GO.vkey.replace('c74f20a3', 'C74F20A3')],
      ...[GO.vkey.replace('Peter', ''), GO.vkey.replace('Peter', 'Pet r')],
      ...[GO.vkey.replace('+ARpc', '+AhpcA'), `${GO.vkey}\n`, GO.skey],
    ])
      expect(() => parseVerifierKey(text)).toThrow(TlogError)
    const error = await parseSignerKey(GO.skey.replace('c74f20a3', 'c74f20a4')).then(String, String)
    expect(error).toContain('c74f20a3')
    expect(error).not.toContain('AYEK')
    await expect(parseSignerKey(GO.vkey)).rejects.toMatchObject({ field: 'signer key' })
    await expect(generateSignerKey('a b', 'ed25519')).rejects.toMatchObject({ field: 'key name' })
  })

  test('is the same if only WebCrypto can sign', async () => {
    vi.resetModules()
    vi.doMock('./node-crypto', () => ({ nodeCrypto: undefined }))
    try {
      const web = await import('./index.js')
      const signer = await web.parseSignerKey(GO.skey)
      expect(web.formatVerifierKey(signer)).toBe(GO.vkey)
      expect(web.formatSignature(await web.signNote(GO.text, signer))).toBe(GO.line)
      const note = web.parseNote(`${GO.text}\n${GO.line}`)
      expect(await web.signatureBy(note, signer)).toBe(note.signatures[0])
      await expect(web.signatureBy({ ...note, text: 'another\n' }, signer)).rejects.toThrow(web.TlogError)
      // Pages over HTTP have no WebCrypto.
      vi.stubGlobal('crypto', {})
      await expect(web.signatureBy(note, signer)).rejects.toThrow('HTTPS')
    } finally {
      vi.unstubAllGlobals()
      vi.doUnmock('./node-crypto')
      vi.resetModules()
    }
  })
})

const body = { origin: 'example.com/log', size: 3, root: MTH(leavesOf(entriesOf(3))) }

describe('a checkpoint', () => {
  test('parses the example of c2sp.org/tlog-cosignature', () => {
    const text = `example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==
`
    const checkpoint = parseCheckpoint(text)
    expect(checkpoint).toMatchObject({
      origin: 'example.com/behind-the-sofa',
      size: 20_852_163,
      extensions: [],
    })
    expect(formatCheckpoint(checkpoint)).toBe(checkpoint.note.text)
    expect(formatNote(checkpoint.note)).toBe(text)
    expect(cosignatureTime(checkpoint.note.signatures[1]!)).toBe(1_679_315_147)
  })

  test('has an origin, a size without leading zeros and a root of 32 bytes', () => {
    const parse = (text: string) => fieldOf(() => parseCheckpoint(`${text}\n${GO.line}`))
    const valid = formatCheckpoint(body)
    expect(parse(valid)).toBe('no error')
    expect(parse(`${valid}an extension\n`)).toBe('no error')
    expect(parse(valid.replace('\n3\n', '\n0\n'))).toBe('no error')
    for (const size of ['03', '-3', '+3', '3.0', '3e1', ' 3', '9007199254740992', '00'])
      expect(parse(valid.replace('\n3\n', `\n${size}\n`))).toBe('tree size')
    expect(parse(valid.replace(/(.*)=\n$/, '$1\n'))).toBe('root hash')
    expect(parse(`${body.origin}\n3\nAAAA\n`)).toBe('root hash')
    for (const text of [`${body.origin}\n3\n`, `\n3\n${valid.split('\n')[2]}\n`, `${valid}\na\n`])
      expect(parse(text)).toBe('checkpoint')
  })
})

describe('a proof file', () => {
  test('is the text of c2sp.org/tlog-proof', async () => {
    const log = await generateSignerKey(body.origin, 'ed25519')
    const text = formatCheckpoint(body)
    const note = { text, signatures: [await signNote(text, log)] }
    const entries = entriesOf(3)
    const proof = { index: 1, hashes: PATH(1, leavesOf(entries)) }
    const formatted = formatProof(proof, note)
    expect(formatted.split('\n').slice(0, 2)).toEqual(['c2sp.org/tlog-proof@v1', 'index 1'])
    for (const extra of ['', 'extra ZXh0cmE=\n', 'extra \n']) {
      const parsed = parseProof(formatted.replace('index', `${extra}index`))
      expect({ ...parsed, hashes: hex(parsed.hashes) }).toMatchObject({ index: 1, hashes: hex(proof.hashes) })
      const { index, hashes, checkpoint } = parsed
      expect(entries.map((entry) => verifyInclusion(leafHash(entry), index, checkpoint, hashes))).toEqual([
        false,
        true,
        false,
      ])
    }
    for (const [field, wrong] of [
      ['first line of the proof', formatted.replace('@v1', '@v2')],
      ['proof', formatted.replace('index', 'Index')],
      ['index', formatted.replace('index 1', 'index 01')],
      ['proof', formatted.replace('\n\n', `\n${'A'.repeat(43)}=`.repeat(64) + '\n\n')],
      ['proof', formatted.replace('\n\n', '\nAAAA\n\n')],
      ['extra', formatted.replace('index', 'extra A\nindex')],
    ])
      expect([wrong, fieldOf(() => parseProof(wrong!))]).toEqual([wrong, field])
  })
})

describe('a request to a witness', () => {
  test('has the form of c2sp.org/tlog-witness', async () => {
    const log = await generateSignerKey(body.origin, 'ed25519')
    const text = formatCheckpoint(body)
    const note = { text, signatures: [await signNote(text, log)] }
    const request = formatWitnessRequest({ oldSize: 2, hashes: [EMPTY_ROOT] }, note)
    expect(request).toBe(`old 2\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n\n${formatNote(note)}`)
    expect(parseWitnessRequest(request)).toMatchObject({ oldSize: 2, checkpoint: { size: 3 } })
    expect(parseWitnessRequest(`old 0\n\n${formatNote(note)}`)).toMatchObject({ oldSize: 0, hashes: [] })
    for (const [field, wrong] of [
      ['request', request.replace('old ', 'new ')],
      ['old size', request.replace('old 2', 'old 02')],
      ['consistency proof', request.replace('\n\n', `\n${'A'.repeat(43)}=`.repeat(63) + '\n\n')],
      ['note', request.slice(0, request.lastIndexOf('\n\n'))],
    ])
      expect(fieldOf(() => parseWitnessRequest(wrong!))).toBe(field)
  })
})

describe('a policy of witnesses', async () => {
  const log = await generateSignerKey(body.origin, 'ed25519')
  const keys = await Promise.all(
    [1, 2, 3, 4, 5, 6].map((n) => generateSignerKey(`w${n}.example`, 'cosignature')),
  )
  const [logLine, ...lines] = [
    `log ${formatVerifierKey(log)} https://example.com/log/v0`,
    ...keys.map((key, at) => `witness ${at < 3 ? 'X' : 'Y'}${(at % 3) + 1} ${formatVerifierKey(key)}`),
  ]
  const example = [
    ...['# two operators', logLine, '', ...lines],
    ...['group X-witnesses 2 X1 X2 X3', 'group Y-witnesses\tany Y1 Y2 Y3 '],
    ...['  group X-and-Y all X-witnesses Y-witnesses', 'quorum X-and-Y', ''],
  ].join('\n')
  const signed = async (signers: typeof keys, text = formatCheckpoint(body)) =>
    parseCheckpoint(
      formatNote({
        text,
        signatures: await Promise.all([log, ...signers].map((key) => signNote(text, key, 1_800_000_000))),
      }),
    )

  test('applies to every set of witnesses that its groups describe', async () => {
    const policy = parsePolicy(example)
    expect(policy.logs[0]!.url).toBe('https://example.com/log/v0')
    const all = await signed(keys)
    const [own, ...cosignatures] = all.note.signatures
    for (let set = 0; set < 64; set++) {
      const isIn = (_: unknown, at: number) => (set >> at) & 1
      const signatures = [own!, ...cosignatures.filter(isIn)]
      const signers = keys.filter(isIn)
      const { isQuorum, cosigned } = await signersOf({ ...all, note: { ...all.note, signatures } }, policy)
      const count = (from: number) => [0, 1, 2].filter((at) => (set >> (from + at)) & 1).length
      expect(isQuorum).toBe(count(0) >= 2 && count(3) >= 1)
      expect([...cosigned.values()]).toEqual(signers.map(() => 1_800_000_000))
    }
    const none = await signersOf(await signed([]), parsePolicy(`${logLine}\nquorum none\n`))
    expect(none.isQuorum).toBe(true)
  })

  test('rejects a checkpoint without a valid signature of a listed log or witness', async () => {
    const policy = parsePolicy(example)
    const checkpoint = await signed(keys)
    const withSignatures = (signatures: typeof checkpoint.note.signatures) => ({
      ...checkpoint,
      note: { ...checkpoint.note, signatures },
    })
    const [own, first, ...rest] = checkpoint.note.signatures
    await expect(signersOf(withSignatures([first!, ...rest]), policy)).rejects.toMatchObject({
      field: 'checkpoint',
    })
    const changed = { ...first!, bytes: Uint8Array.from(first!.bytes) }
    changed.bytes[7]! ^= 1
    await expect(signersOf(withSignatures([own!, changed]), policy)).rejects.toMatchObject({
      field: 'signature by w1.example',
    })
    const another = await signed(keys, formatCheckpoint({ ...body, origin: 'example.com/another' }))
    await expect(signersOf(another, policy)).rejects.toMatchObject({ field: 'checkpoint' })
  })

  test('names the line with a syntax error', () => {
    const witness = lines[0]!
    for (const [number, text] of [
      [1, 'logs x'],
      [1, `log ${formatVerifierKey(keys[0]!)}`],
      [1, 'witness X1 key'],
      [1, 'quorum X1'],
      [2, `${logLine}\n${logLine}\nquorum none`],
      [2, `${witness}\n${witness.replace('X1', 'X2')}\nquorum none`],
      [2, `${witness}\n${lines[1]!.replace('X2', 'X1')}`],
      [1, lines[0]!.replace('X1', 'none')],
      [2, `${witness}\ngroup g 2 X1`],
      [2, `${witness}\ngroup g 0 X1`],
      [2, `${witness}\ngroup g 01 X1`],
      [2, `${witness}\ngroup g any X1 X1`],
      [2, `${witness}\ngroup g any X2`],
      [3, `${witness}\ngroup g any X1\ngroup h any X1`],
      [2, `${witness}\ngroup X1 any X1`],
      [3, `${witness}\nquorum X1\nquorum X1`],
    ] as const)
      expect([text, fieldOf(() => parsePolicy(text))]).toEqual([text, `policy, line ${number}`])
    expect(fieldOf(() => parsePolicy(witness))).toBe('policy')
    expect(fieldOf(() => parsePolicy(`${witness}\r\nquorum X1`))).toBe('policy')
  })
})
