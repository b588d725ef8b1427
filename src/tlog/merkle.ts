// SPDX-License-Identifier: MIT
import { equal } from './bytes'
import { TlogError } from './error'
import { sha256 } from './sha256'

/** Root of the tree without entries (RFC 6962, 2.1). */
export const EMPTY_ROOT = sha256(new Uint8Array())

/** Hash of a leaf with an entry (RFC 6962, 2.1). */
export function leafHash(entry: Uint8Array): Uint8Array {
  const input = new Uint8Array(1 + entry.length)
  input.set(entry, 1)
  return sha256(input)
}

/** Hash of a node with two children (RFC 6962, 2.1). */
export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  const input = new Uint8Array(65)
  input[0] = 1
  input.set(left, 1)
  input.set(right, 33)
  return sha256(input)
}

/**
 * Source of hashes of complete subtrees: MTH(D[index * 2^height : (index + 1) * 2^height]) of RFC 6962, 2.1.
 */
export type HashReader = (height: number, index: number) => Uint8Array

/** Greatest power of two below `size`, which is at least 2. */
function splitPoint(size: number): number {
  let power = 1
  while (power * 2 < size) power *= 2
  return power
}

/** MTH(D[start:end]). `start` is a multiple of a power of two that is at least `end - start`. */
function rangeHash(read: HashReader, start: number, end: number): Uint8Array {
  const size = end - start
  let [height, width] = [0, 1]
  for (; width < size; width *= 2) height++
  if (width === size) return read(height, start / size)
  const middle = start + splitPoint(size)
  return nodeHash(rangeHash(read, start, middle), rangeHash(read, middle, end))
}

/** Root of the tree of the first `size` entries (RFC 6962, 2.1). */
export function treeRoot(read: HashReader, size: number): Uint8Array {
  return size === 0 ? EMPTY_ROOT : rangeHash(read, 0, size)
}

/** Hashes next to the path from the root to a node above or at an index, from that node upwards. */
function pathTo(
  read: HashReader,
  index: number,
  size: number,
  isNode: (start: number, end: number) => boolean,
): { proof: Uint8Array[]; start: number } {
  const proof: Uint8Array[] = []
  let [start, end] = [0, size]
  while (!isNode(start, end)) {
    const middle = start + splitPoint(end - start)
    if (index < middle) {
      proof.unshift(rangeHash(read, middle, end))
      end = middle
    } else {
      proof.unshift(rangeHash(read, start, middle))
      start = middle
    }
  }
  return { proof, start }
}

/** Inclusion proof of an entry in the tree of `size` entries (RFC 6962, 2.1.1), from the leaf upwards. */
export function inclusionProof(read: HashReader, index: number, size: number): Uint8Array[] {
  if (!(index >= 0 && index < size)) throw new TlogError('index', `a number from 0 to ${size - 1}`)
  return pathTo(read, index, size, (start, end) => end - start === 1).proof
}

/** Consistency proof (RFC 6962, 2.1.2); empty if the sizes are equal or the old tree is empty. */
export function consistencyProof(read: HashReader, oldSize: number, size: number): Uint8Array[] {
  if (!(oldSize >= 0 && oldSize <= size)) throw new TlogError('old size', `a number from 0 to ${size}`)
  if (oldSize === 0 || oldSize === size) return []
  const { proof, start } = pathTo(read, oldSize - 1, size, (_, end) => end === oldSize)
  // The proof omits the old root if it is a node of the new tree, because the verifier knows it.
  return start === 0 ? proof : [rangeHash(read, start, oldSize), ...proof]
}

/**
 * Passes the hashes of a proof from a node up to the root, each with its side (RFC 9162, 2.1.3.2 and
 * 2.1.4.2). False if the proof has another number of hashes.
 */
function climb(
  node: number,
  last: number,
  proof: readonly Uint8Array[],
  pass: (sibling: Uint8Array, isLeft: boolean) => void,
): boolean {
  for (const sibling of proof) {
    if (last === 0) return false
    const isLeft = node % 2 === 1 || node === last
    pass(sibling, isLeft)
    if (isLeft) while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)]
    ;[node, last] = [Math.floor(node / 2), Math.floor(last / 2)]
  }
  return last === 0
}

/** True if the proof shows that the tree with this root has the leaf at the index (RFC 9162, 2.1.3.2). */
export function verifyInclusion(
  leaf: Uint8Array,
  index: number,
  { size, root }: TreeHead,
  proof: readonly Uint8Array[],
): boolean {
  if (!(index >= 0 && index < size)) return false
  let hash = leaf
  const isWhole = climb(index, size - 1, proof, (sibling, isLeft) => {
    hash = isLeft ? nodeHash(sibling, hash) : nodeHash(hash, sibling)
  })
  return isWhole && equal(hash, root)
}

/** Size and root of a tree. */
export interface TreeHead {
  size: number
  root: Uint8Array
}

/** True if the new tree begins with the old one by this proof (RFC 9162, 2.1.4.2). */
export function verifyConsistency(old: TreeHead, head: TreeHead, proof: readonly Uint8Array[]): boolean {
  if (old.size > head.size) return false
  if (old.size === head.size) return proof.length === 0 && equal(old.root, head.root)
  if (old.size === 0) return proof.length === 0 && equal(old.root, EMPTY_ROOT)
  let [node, last] = [old.size - 1, head.size - 1]
  while (node % 2 === 1) [node, last] = [Math.floor(node / 2), Math.floor(last / 2)]
  // A complete old tree is a node of the new tree, and the proof then leaves out its root.
  const [first, ...rest] = node === 0 ? [old.root, ...proof] : proof
  if (first === undefined) return false
  let [oldHash, hash] = [first, first]
  const isWhole = climb(node, last, rest, (sibling, isLeft) => {
    if (isLeft) oldHash = nodeHash(sibling, oldHash)
    hash = isLeft ? nodeHash(sibling, hash) : nodeHash(hash, sibling)
  })
  return isWhole && equal(oldHash, old.root) && equal(hash, head.root)
}
