// SPDX-License-Identifier: MIT
/** Order of edges along a sweep line: a treap whose nodes are also a linked list of neighbours. */
export class SweepOrder {
  private readonly left: Int32Array
  private readonly right: Int32Array
  private readonly parent: Int32Array
  private readonly priority: Uint32Array
  private readonly belows: Int32Array
  private readonly overs: Int32Array
  private root = -1
  private seed = 1

  /** @param above returns true if an item that is being inserted lies above another one */
  constructor(
    capacity: number,
    private readonly above: (item: number, other: number) => boolean,
  ) {
    const links = () => new Int32Array(capacity).fill(-1)
    this.left = links()
    this.right = links()
    this.parent = links()
    this.belows = links()
    this.overs = links()
    this.priority = new Uint32Array(capacity)
  }

  /** Item directly below; -1 if there is none. */
  below(item: number): number {
    return this.belows[item]!
  }

  /** Item directly above; -1 if there is none. */
  over(item: number): number {
    return this.overs[item]!
  }

  /** Lowest item; -1 if there is none. */
  lowest(): number {
    let at = this.root
    while (at >= 0 && this.left[at]! >= 0) at = this.left[at]!
    return at
  }

  /** Inserts an item and returns its neighbours below and above, -1 for a missing one. */
  insert(item: number): readonly [number, number] {
    let [at, below, over] = [this.root, -1, -1]
    let parent = -1
    while (at >= 0) {
      parent = at
      if (this.above(item, at)) {
        below = at
        at = this.right[at]!
      } else {
        over = at
        at = this.left[at]!
      }
    }
    this.link(below, item)
    this.link(item, over)
    this.parent[item] = parent
    this.left[item] = this.right[item] = -1
    if (parent < 0) this.root = item
    else if (parent === below) this.right[parent] = item
    else this.left[parent] = item
    // xorshift32 with a fixed seed, so that the tree has the same form every time
    this.seed ^= this.seed << 13
    this.seed ^= this.seed >>> 17
    this.seed ^= this.seed << 5
    this.priority[item] = this.seed
    while (this.parent[item] >= 0 && this.priority[item] > this.priority[this.parent[item]]!)
      this.rotateUp(item)
    return [below, over]
  }

  /** Removes an item and returns its former neighbours below and above, -1 for a missing one. */
  remove(item: number): readonly [number, number] {
    for (;;) {
      const [left, right] = [this.left[item]!, this.right[item]!]
      if (left < 0 && right < 0) break
      this.rotateUp(right < 0 || (left >= 0 && this.priority[left]! > this.priority[right]!) ? left : right)
    }
    this.replaceChild(this.parent[item]!, item, -1)
    const [below, over] = [this.belows[item]!, this.overs[item]!]
    this.link(below, over)
    return [below, over]
  }

  private link(below: number, over: number): void {
    if (below >= 0) this.overs[below] = over
    if (over >= 0) this.belows[over] = below
  }

  private replaceChild(parent: number, child: number, by: number): void {
    if (parent < 0) this.root = by
    else if (this.left[parent] === child) this.left[parent] = by
    else this.right[parent] = by
    if (by >= 0) this.parent[by] = parent
  }

  private rotateUp(item: number): void {
    const parent = this.parent[item]!
    this.replaceChild(this.parent[parent]!, parent, item)
    const [inner, outer] = this.left[parent] === item ? [this.left, this.right] : [this.right, this.left]
    const moved = outer[item]!
    inner[parent] = moved
    if (moved >= 0) this.parent[moved] = parent
    outer[item] = parent
    this.parent[parent] = item
  }
}
