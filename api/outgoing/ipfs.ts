import { createHash } from 'node:crypto'
import type { CID } from 'multiformats/cid'

/** A file of IPFS: the root, and the names that lead from it to the file. */
export interface IpfsPath {
  cid: string
  path: readonly string[]
}

/** Maximum size of a gateway's response in bytes: the document, and the directories on its path. */
export const MAX_CAR_BYTES = 1_048_576
/** Maximum number of blocks in a CAR, and of block reads on the path to a document and in it. */
const MAX_BLOCKS = 1_000
/** Maximum nesting of directories, shards and layers of a file. */
const MAX_DEPTH = 32
const MAX_NAMES = 16
/** Width of the widest directory shard in use (kubo). */
const MAX_FANOUT = 1_024

const SHA2_256 = 0x12
const DAG_PB = 0x70
const RAW = 0x55

/** Loads the optional packages that read IPFS, at the start. Rejects if they are not installed. */
export async function loadIpfs() {
  const [{ CarBlockIterator }, { exporter }, { CID }] = await Promise.all([
    import('@ipld/car/iterator'),
    import('ipfs-unixfs-exporter'),
    import('multiformats/cid'),
  ])
  return { CarBlockIterator, exporter, CID }
}

/** Reads `ipfs://<cid>[/<path>]`, or returns its problem. Names are percent-decoded. */
export async function readIpfsUri(uri: string): Promise<IpfsPath | { problem: string }> {
  const [, root, rest] = /^ipfs:\/\/([A-Za-z0-9]{1,128})(?:\/([^?#]*))?$/i.exec(uri) ?? []
  if (root === undefined) return { problem: 'expected ipfs://<CID>/<path>, without a query' }
  const cid = await parseCid(root)
  if (!cid || !isVerifiable(cid) || (cid.code !== DAG_PB && cid.code !== RAW))
    return { problem: 'expected ipfs:// and a CID of a file: dag-pb or raw, by sha2-256' }
  const path = rest ? rest.split('/').map(decodeName) : []
  if (path.length > MAX_NAMES) return { problem: `expected at most ${MAX_NAMES} names in an ipfs path` }
  if (
    path.some(
      (name) => name === undefined || ['', '.', '..'].includes(name) || /[/\\\x00-\x1f\x7f]/.test(name),
    )
  )
    return {
      problem:
        'expected names in an ipfs path that are not empty, "." or "..", without slashes and control characters',
    }
  return { cid: cid.toString(), path: path as string[] }
}

async function parseCid(text: string): Promise<CID | undefined> {
  const { CID } = await loadIpfs()
  try {
    return CID.parse(text)
  } catch {
    return undefined
  }
}

function decodeName(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** True for a full sha2-256 only: other bytes could match a truncated hash, and `identity` is not a hash. */
function isVerifiable({ multihash }: CID): boolean {
  return multihash.code === SHA2_256 && multihash.digest.length === 32
}

function hex(digest: Uint8Array): string {
  return Buffer.from(digest).toString('hex')
}

/**
 * Returns the bytes of the file at a path from a CAR (https://ipld.io/specs/transport/car/carv1) that anyone
 * may have made: blocks are checked against their hashes, and read only if linked from the root. Throws an
 * Error if it is incomplete, larger than `maxBytes`, not a file, or needs too many blocks.
 */
export async function documentOfCar(
  car: Uint8Array,
  target: IpfsPath,
  maxBytes: number,
): Promise<Uint8Array> {
  const { exporter, CID } = await loadIpfs()
  const blocks = await verifiedBlocks(car)
  const store = boundedStore(blocks)
  // The exporter only reads single blocks, because its own traversal has no limits.
  const open = (cid: CID, depth: number) => {
    if (depth > MAX_DEPTH) throw new Error('the directory is nested too deep')
    if (cid.code !== DAG_PB && cid.code !== RAW) throw new Error('a link has an unsupported codec')
    return exporter(cid, store)
  }

  /** Finds a name in a directory. Gateways send only the shards on its path, so all received are searched. */
  async function find(cid: CID, name: string, depth: number): Promise<CID | undefined> {
    const directory = await open(cid, depth)
    if (directory.type !== 'directory') return undefined
    const links = directory.node.Links
    if (directory.unixfs.type === 'directory') return links.find((link) => link.Name === name)?.Hash
    const fanout = Number(directory.unixfs.fanout ?? 0)
    if (!(fanout >= 2 && fanout <= MAX_FANOUT)) throw new Error('a directory shard has an unsupported width')
    // In a shard, a link's name is its slot in hex digits plus the entry's name; a link to a further shard
    // has the slot only.
    const digits = (fanout - 1).toString(16).length
    const entry = links.find((link) => link.Name?.slice(digits) === name)
    if (entry) return entry.Hash
    for (const link of links)
      if (link.Name?.length === digits && blocks.has(hex(link.Hash.multihash.digest))) {
        const found = await find(link.Hash, name, depth + 1)
        if (found) return found
      }
    return undefined
  }

  const parts: Uint8Array[] = []
  let size = 0
  const push = (part: Uint8Array) => {
    size += part.length
    if (size > maxBytes) throw new Error('the file is too large')
    parts.push(part)
  }
  async function read(cid: CID, depth: number): Promise<void> {
    const node = await open(cid, depth)
    if (node.type === 'raw') return push(node.node)
    if (node.type !== 'file' || !['file', 'raw'].includes(node.unixfs.type)) throw new Error('not a file')
    const before = size
    if (node.unixfs.fileSize() > BigInt(maxBytes)) throw new Error('the file is too large')
    if (node.unixfs.data) push(node.unixfs.data)
    for (const link of node.node.Links) await read(link.Hash, depth + 1)
    if (BigInt(size - before) !== node.unixfs.fileSize())
      throw new Error('the file does not have the stated size')
  }

  let cid = CID.parse(target.cid)
  for (const [depth, name] of target.path.entries()) {
    const found = await find(cid, name, depth)
    if (!found) throw new Error('no such name in the directory')
    cid = found
  }
  await read(cid, 0)
  return Buffer.concat(parts)
}

/** Returns the blocks of a CAR by the SHA-256 in their CIDs. Throws if a block has another hash. */
async function verifiedBlocks(car: Uint8Array): Promise<ReadonlyMap<string, Uint8Array>> {
  const { CarBlockIterator } = await loadIpfs()
  const blocks = new Map<string, Uint8Array>()
  let count = 0
  for await (const { cid, bytes } of await CarBlockIterator.fromBytes(car)) {
    if (++count > MAX_BLOCKS) throw new Error('too many blocks')
    const digest = createHash('sha256').update(bytes).digest('hex')
    if (!isVerifiable(cid) || hex(cid.multihash.digest) !== digest)
      throw new Error('a block does not match its hash')
    blocks.set(digest, bytes)
  }
  return blocks
}

/** Creates a store for the exporter. A block may be linked many times: each read counts. */
function boundedStore(blocks: ReadonlyMap<string, Uint8Array>) {
  let reads = 0
  let bytesRead = 0
  return {
    async *get(cid: CID) {
      if (!isVerifiable(cid)) throw new Error('a link has an unsupported hash function')
      const block = blocks.get(hex(cid.multihash.digest))
      if (!block) throw new Error('a block is missing')
      bytesRead += block.length
      if (++reads > MAX_BLOCKS) throw new Error('the file needs too many blocks')
      if (bytesRead > MAX_CAR_BYTES) throw new Error('the file needs too many bytes')
      yield block
    },
  }
}
