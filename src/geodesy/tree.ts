// SPDX-License-Identifier: MIT
import { bulgeOf, leastGap } from './edge'
import { spend } from './effort'
import { longestArc, sagitta } from './ellipsoid'
import type { Elements, Vertices } from './vertices'

/** Elements per leaf, and children per node: the fastest, measured on 1,000 to 100,000 vertices. */
const LEAF = 8
const FAN = 4

/** Numbers per node: the box (least x, y, z, greatest x, y, z, metres), and the span of longitudes. */
export const STRIDE = 8

/** Elements with a tree of boxes. */
export interface Indexed extends Elements {
  tree: BoxTree
}

/**
 * Boxes of runs of consecutive elements in earth-centred metres, built in one pass without sorting. A box
 * contains the geodesics: it is that of their ends, enlarged by the greatest sagitta. Level 0 has a node for
 * every LEAF elements, each further level one for every FAN nodes, up to a single root.
 */
export class BoxTree {
  /** STRIDE numbers per node, level by level, the root last */
  readonly nodes: Float64Array
  /** by element: greatest distance of its geodesic from its chord, metres */
  readonly bulges: Float64Array
  /** by node: parity of the number of edges below it that cross the antimeridian */
  readonly wraps: Uint8Array
  /** by leaf: the course of its edges (courseOf), and the greatest bulge of an edge, metres */
  private readonly courses: Int8Array
  private readonly bulgesOfLeaves: Float64Array
  /** index of the first node of each level, and the index after the last node */
  readonly levels: number[] = [0]
  /** by level: number of elements below a node */
  private readonly spans: number[] = [LEAF]

  constructor(readonly elements: Elements) {
    const count = elements.from.length
    let width = Math.ceil(count / LEAF)
    let total = width
    this.levels.push(width)
    while (width > 1) {
      width = Math.ceil(width / FAN)
      total += width
      this.levels.push(total)
      this.spans.push(this.spans.at(-1)! * FAN)
    }
    this.nodes = new Float64Array(total * STRIDE)
    this.wraps = new Uint8Array(total)
    this.bulges = new Float64Array(count)
    this.courses = new Int8Array(this.levels[1]!)
    this.bulgesOfLeaves = new Float64Array(this.levels[1]!)
    this.fillLeaves(count)
    for (let level = 1; level < this.levels.length - 1; level++) this.fillLevel(level)
  }

  get root(): number {
    return this.wraps.length - 1
  }

  get height(): number {
    return this.levels.length - 2
  }

  private fillLeaves(count: number): void {
    const { lon, x, y, z, from, to } = this.elements
    const { nodes, bulges } = this
    // Math.min and Math.max take several times as long as comparisons.
    for (let leaf = 0, node = 0; leaf * LEAF < count; leaf++, node += STRIDE) {
      let minX = Infinity
      let minY = Infinity
      let minZ = Infinity
      let maxX = -Infinity
      let maxY = -Infinity
      let maxZ = -Infinity
      let minLon = Infinity
      let maxLon = -Infinity
      let wraps = 0
      let greatest = 0
      const first = leaf * LEAF
      const end = Math.min(first + LEAF, count)
      for (let e = first; e < end; e++) {
        const a = from[e]!
        const b = to[e]!
        const xa = x[a]!
        const ya = y[a]!
        const za = z[a]!
        const xb = x[b]!
        const yb = y[b]!
        const zb = z[b]!
        const squared = (xa - xb) * (xa - xb) + (ya - yb) * (ya - yb) + (za - zb) * (za - zb)
        const bulge = sagitta(longestArc(Math.sqrt(squared)))
        bulges[e] = bulge
        if (bulge > greatest) greatest = bulge
        // Coordinates are rounded by less than a nanometre each.
        const margin = bulge + 1e-8
        const lowX = (xa < xb ? xa : xb) - margin
        const lowY = (ya < yb ? ya : yb) - margin
        const lowZ = (za < zb ? za : zb) - margin
        const highX = (xa < xb ? xb : xa) + margin
        const highY = (ya < yb ? yb : ya) + margin
        const highZ = (za < zb ? zb : za) + margin
        if (lowX < minX) minX = lowX
        if (lowY < minY) minY = lowY
        if (lowZ < minZ) minZ = lowZ
        if (highX > maxX) maxX = highX
        if (highY > maxY) maxY = highY
        if (highZ > maxZ) maxZ = highZ
        const lonA = lon[a]!
        const lonB = lon[b]!
        const west = lonA < lonB ? lonA : lonB
        const east = lonA < lonB ? lonB : lonA
        if (west < minLon) minLon = west
        if (east > maxLon) maxLon = east
        if (east - west > 180) {
          wraps ^= 1
          minLon = -Infinity
          maxLon = Infinity
        }
      }
      nodes[node] = minX
      nodes[node + 1] = minY
      nodes[node + 2] = minZ
      nodes[node + 3] = maxX
      nodes[node + 4] = maxY
      nodes[node + 5] = maxZ
      nodes[node + 6] = minLon
      nodes[node + 7] = maxLon
      this.wraps[leaf] = wraps
      this.bulgesOfLeaves[leaf] = greatest
      this.courses[leaf] = this.courseOf(first, end, 16 * greatest + 1e-5)
    }
  }

  /** Axis, 1 to 3, negative if against it, along which all joined edges advance by more than `step`; or 0. */
  private courseOf(first: number, end: number, step: number): number {
    const { x, y, z, from, to } = this.elements
    const a = from[first]!
    const b = to[end - 1]!
    const dx = Math.abs(x[b]! - x[a]!)
    const dy = Math.abs(y[b]! - y[a]!)
    const dz = Math.abs(z[b]! - z[a]!)
    const axis = dx > dy ? (dx > dz ? 1 : 3) : dy > dz ? 2 : 3
    const along = axis === 1 ? x : axis === 2 ? y : z
    const sense = along[a]! < along[b]! ? 1 : -1
    let before = a
    for (let e = first; e < end; e++) {
      const next = to[e]!
      if (from[e] !== before || !((along[next]! - along[before]!) * sense > step)) return 0
      before = next
    }
    return axis * sense
  }

  /** True if edges of a leaf, or of two in a row, advance so that only boxes of consecutive edges meet. */
  runsOn(leaf: number, other: number): boolean {
    const course = this.courses[leaf]!
    if (leaf === other || course === 0) return course !== 0
    if (other !== leaf + 1 || this.courses[other] !== course) return false
    const { from, to } = this.elements
    // Each step is 16 bulges of its own leaf, so more than 3 of any two edges.
    const bulge = this.bulgesOfLeaves[leaf]!
    const next = this.bulgesOfLeaves[other]!
    return from[other * LEAF] === to[other * LEAF - 1] && bulge <= 4 * next + 1e-6 && next <= 4 * bulge + 1e-6
  }

  private fillLevel(level: number): void {
    const { nodes, levels, wraps } = this
    for (let node = levels[level]!; node < levels[level + 1]!; node++) {
      const first = this.firstChild(node, level)
      const last = this.endChild(node, level)
      const at = node * STRIDE
      nodes.copyWithin(at, first * STRIDE, (first + 1) * STRIDE)
      wraps[node] = wraps[first]!
      for (let child = first + 1; child < last; child++) {
        const c = child * STRIDE
        for (let k = 0; k < 3; k++) {
          if (nodes[c + k]! < nodes[at + k]!) nodes[at + k] = nodes[c + k]!
          if (nodes[c + 3 + k]! > nodes[at + 3 + k]!) nodes[at + 3 + k] = nodes[c + 3 + k]!
        }
        if (nodes[c + 6]! < nodes[at + 6]!) nodes[at + 6] = nodes[c + 6]!
        if (nodes[c + 7]! > nodes[at + 7]!) nodes[at + 7] = nodes[c + 7]!
        wraps[node]! ^= wraps[child]!
      }
    }
  }

  /** Children of a node of level 1 or higher: the nodes from firstChild to endChild, of the level below. */
  firstChild(node: number, level: number): number {
    return this.levels[level - 1]! + (node - this.levels[level]!) * FAN
  }
  endChild(node: number, level: number): number {
    return Math.min(this.firstChild(node, level) + FAN, this.levels[level]!)
  }

  /** Elements below a node: from `firstElement` to `endElement`. */
  firstElement(node: number, level: number): number {
    return (node - this.levels[level]!) * this.spans[level]!
  }
  endElement(node: number, level: number): number {
    return Math.min(this.firstElement(node, level) + this.spans[level]!, this.bulges.length)
  }

  /** Length of a node's diagonal: the greatest distance through the earth of two positions below it. */
  diagonal(node: number): number {
    const n = node * STRIDE
    const { nodes } = this
    const dx = nodes[n + 3]! - nodes[n]!
    const dy = nodes[n + 4]! - nodes[n + 1]!
    const dz = nodes[n + 5]! - nodes[n + 2]!
    return Math.sqrt(dx * dx + dy * dy + dz * dz)
  }
}

function boxesMeet(nodes: Float64Array, m: number, n: number): boolean {
  const p = m * STRIDE
  const q = n * STRIDE
  return (
    nodes[p]! <= nodes[q + 3]! &&
    nodes[q]! <= nodes[p + 3]! &&
    nodes[p + 1]! <= nodes[q + 4]! &&
    nodes[q + 1]! <= nodes[p + 4]! &&
    nodes[p + 2]! <= nodes[q + 5]! &&
    nodes[q + 2]! <= nodes[p + 5]!
  )
}

/** Least distance of two boxes, metres: a lower bound of all geodesics between their contents. */
export function boxGap(a: BoxTree, nodeA: number, b: BoxTree, nodeB: number): number {
  const p = nodeA * STRIDE
  const q = nodeB * STRIDE
  const s = a.nodes
  const t = b.nodes
  const dx = Math.max(0, s[p]! - t[q + 3]!, t[q]! - s[p + 3]!)
  const dy = Math.max(0, s[p + 1]! - t[q + 4]!, t[q + 1]! - s[p + 4]!)
  const dz = Math.max(0, s[p + 2]! - t[q + 5]!, t[q + 2]! - s[p + 5]!)
  return Math.sqrt(dx * dx + dy * dy + dz * dz)
}

/**
 * Calls back with all pairs at most `limit` metres apart, and few others. If S is T, each pair comes in at
 * least one order.
 */
export function closePairs(
  S: Indexed,
  T: Indexed,
  limit: number,
  found: (e: number, f: number) => void,
): void {
  const s = S.tree
  const t = T.tree
  const visit = (m: number, mLevel: number, n: number, nLevel: number): void => {
    if (S === T && mLevel === nLevel && m > n) return
    spend(0.05)
    if (boxGap(s, m, t, n) > limit) return
    if (mLevel === 0 && nLevel === 0) {
      spend(8)
      for (let e = s.firstElement(m, 0), eEnd = s.endElement(m, 0); e < eEnd; e++)
        for (let f = t.firstElement(n, 0), fEnd = t.endElement(n, 0); f < fEnd; f++)
          if (leastGap(S, S.from[e]!, S.to[e]!, T, T.from[f]!, T.to[f]!) <= limit) found(e, f)
    } else if (nLevel === 0 || (mLevel > 0 && s.diagonal(m) >= t.diagonal(n)))
      for (let child = s.firstChild(m, mLevel), end = s.endChild(m, mLevel); child < end; child++)
        visit(child, mLevel - 1, n, nLevel)
    else
      for (let child = t.firstChild(n, nLevel), end = t.endChild(n, nLevel); child < end; child++)
        visit(m, mLevel, child, nLevel - 1)
  }
  visit(s.root, s.height, t.root, t.height)
}

/** Calls back once with each pair e < f of elements, not consecutive, whose boxes meet. */
export function selfPairs(
  S: Indexed,
  start: number,
  end: number,
  found: (e: number, f: number) => void,
): void {
  const { tree, x, y, z, from, to } = S
  const { bulges, nodes } = tree
  const visit = (m: number, n: number, level: number): void => {
    spend(0.02)
    if (m !== n && !boxesMeet(nodes, m, n)) return
    if (
      tree.endElement(m, level) <= start ||
      tree.firstElement(m, level) >= end ||
      tree.endElement(n, level) <= start ||
      tree.firstElement(n, level) >= end
    )
      return
    if (level > 0) {
      for (let i = tree.firstChild(m, level), iEnd = tree.endChild(m, level); i < iEnd; i++)
        for (let j = m === n ? i : tree.firstChild(n, level), jEnd = tree.endChild(n, level); j < jEnd; j++)
          visit(i, j, level - 1)
      return
    }
    spend(2)
    if (tree.runsOn(m, n)) return
    for (
      let e = Math.max(start, tree.firstElement(m, 0)), eEnd = Math.min(end, tree.endElement(m, 0));
      e < eEnd;
      e++
    ) {
      const reach = 2 * bulges[e]! + 1e-6
      const a = from[e]!
      const b = to[e]!
      const minX = Math.min(x[a]!, x[b]!) - reach
      const maxX = Math.max(x[a]!, x[b]!) + reach
      const minY = Math.min(y[a]!, y[b]!) - reach
      const maxY = Math.max(y[a]!, y[b]!) + reach
      const minZ = Math.min(z[a]!, z[b]!) - reach
      const maxZ = Math.max(z[a]!, z[b]!) + reach
      // The next element in a ring shares an end with this one, so they never cross.
      for (
        let f = m === n ? e + 1 : Math.max(start, tree.firstElement(n, 0)),
          fEnd = Math.min(end, tree.endElement(n, 0));
        f < fEnd;
        f++
      ) {
        const c = from[f]!
        if (c === b) continue
        const d = to[f]!
        const more = 2 * bulges[f]!
        if (Math.min(x[c]!, x[d]!) - more > maxX || Math.max(x[c]!, x[d]!) + more < minX) continue
        if (Math.min(y[c]!, y[d]!) - more > maxY || Math.max(y[c]!, y[d]!) + more < minY) continue
        if (Math.min(z[c]!, z[d]!) - more > maxZ || Math.max(z[c]!, z[d]!) + more < minZ) continue
        found(e, f)
      }
    }
  }
  visit(tree.root, tree.root, tree.height)
}

/** Elements that may be at most `limit` metres from the edge or position from `a` to `b` of V. */
export function elementsNear(S: Indexed, V: Vertices, a: number, b: number, limit: number): number[] {
  spend(1)
  const found: number[] = []
  const { tree, x, y, z, from, to } = S
  const { nodes, bulges } = tree
  const reach = limit + bulgeOf(V, a, b) + 1e-8
  const low = [
    Math.min(V.x[a]!, V.x[b]!) - reach,
    Math.min(V.y[a]!, V.y[b]!) - reach,
    Math.min(V.z[a]!, V.z[b]!) - reach,
  ] as const
  const high = [
    Math.max(V.x[a]!, V.x[b]!) + reach,
    Math.max(V.y[a]!, V.y[b]!) + reach,
    Math.max(V.z[a]!, V.z[b]!) + reach,
  ] as const
  const apart = (axis: Float64Array, p: number, q: number, bulge: number, k: 0 | 1 | 2) => {
    const [v, w] = [axis[p]!, axis[q]!]
    return (v < w ? v : w) - bulge > high[k] || (v < w ? w : v) + bulge < low[k]
  }
  const visit = (node: number, level: number): void => {
    spend(0.03)
    const n = node * STRIDE
    for (let k = 0; k < 3; k++) if (nodes[n + k]! > high[k]! || nodes[n + 3 + k]! < low[k]!) return
    if (level > 0) {
      for (let child = tree.firstChild(node, level), end = tree.endChild(node, level); child < end; child++)
        visit(child, level - 1)
      return
    }
    spend(0.5)
    for (let e = tree.firstElement(node, 0), end = tree.endElement(node, 0); e < end; e++) {
      const [c, d, bulge] = [from[e]!, to[e]!, bulges[e]! + 1e-8]
      if (apart(x, c, d, bulge, 0) || apart(y, c, d, bulge, 1) || apart(z, c, d, bulge, 2)) continue
      if (leastGap(V, a, b, S, c, d) <= limit) found.push(e)
    }
  }
  visit(tree.root, tree.height)
  return found
}
