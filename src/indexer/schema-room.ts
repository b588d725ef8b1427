/** A schema that takes a place among those that are read. */
export interface Tenant {
  uid: string
  /** Account that registered it, lower-case; null if a database of an older version did not note it. */
  registerer: string | null
  /** Block of its registration. */
  block: number
}

/**
 * Attesters of a schema that are told apart: a schema used by this many counts towards no account's share.
 */
export const SEVERAL = 2

/**
 * The found schemas of a chain that are read, at most `most`. Anyone may register schemas, so places go by
 * use, not by arrival: a schema without attestations leaves its place to a new one if there is no other, and
 * has lost nothing by it. One with attestations keeps its place, as its revocations have to be read. An
 * account has `share` places for schemas that fewer than two accounts attest by.
 */
export class SchemaRoom {
  private readonly share: number

  constructor(
    private readonly most: number,
    /** By UID. */
    private readonly tenants = new Map<string, Tenant>(),
    /** By schema, the accounts that have attested by it: at most SEVERAL. */
    private readonly attesters = new Map<string, Set<string>>(),
  ) {
    this.share = Math.ceil(most / 20)
  }

  /** A copy of the places, to decide about them on trial. Attestations are noted in both. */
  copy(): SchemaRoom {
    return new SchemaRoom(this.most, new Map(this.tenants), this.attesters)
  }

  private get isFull(): boolean {
    return this.tenants.size >= this.most
  }

  has(uid: string): boolean {
    return this.tenants.has(uid)
  }

  get uids(): string[] {
    return [...this.tenants.keys()]
  }

  /** Number of accounts that have attested by a schema, at most SEVERAL. */
  usersOf(uid: string): number {
    return this.attesters.get(uid)?.size ?? 0
  }

  /** Notes an attestation. */
  use(uid: string, attester: string): void {
    const known = this.attesters.get(uid)
    if (!known) this.attesters.set(uid, new Set([attester]))
    else if (known.size < SEVERAL) known.add(attester)
  }

  /** Takes a schema in, whatever else is there: it was decided before. */
  put(tenant: Tenant): void {
    this.tenants.set(tenant.uid, tenant)
  }

  leave(uid: string): void {
    this.tenants.delete(uid)
  }

  /** Takes a schema in if there is a place for it that no other one has. */
  enterFree(tenant: Tenant): boolean {
    if (this.isFull || this.isShareFull(tenant)) return false
    this.put(tenant)
    return true
  }

  /**
   * Takes a schema in, and answers which one left for it. `entered` is false if that is the schema itself:
   * none is older and unused. So the order in which registrations are read makes no difference.
   */
  enter(tenant: Tenant): { entered: boolean; left?: Tenant } {
    if (this.enterFree(tenant)) return { entered: true }
    const isOwn = this.isShareFull(tenant)
    this.put(tenant)
    const left = isOwn
      ? oldest(this.unused().filter(({ registerer }) => registerer === tenant.registerer))
      : this.mostCrowded()
    this.leave((left ?? tenant).uid)
    return !left || left === tenant ? { entered: false } : { entered: true, left }
  }

  /** Whether the account's share is taken by schemas that it registered. */
  private isShareFull({ registerer }: Tenant): boolean {
    if (registerer === null) return false
    let taken = 0
    for (const each of this.tenants.values())
      if (each.registerer === registerer && this.usersOf(each.uid) < SEVERAL) taken++
    return taken >= this.share
  }

  /** The oldest unused schema of the account that has the most of them. */
  private mostCrowded(): Tenant | undefined {
    const byAccount = new Map<string | null, Tenant[]>()
    for (const each of this.unused()) {
      const others = byAccount.get(each.registerer)
      if (others) others.push(each)
      else byAccount.set(each.registerer, [each])
    }
    const groups = [...byAccount.values()]
    const most = Math.max(...groups.map(({ length }) => length))
    return oldest(groups.filter(({ length }) => length === most).flat())
  }

  private unused(): Tenant[] {
    return [...this.tenants.values()].filter((each) => this.usersOf(each.uid) === 0)
  }
}

/** The first in the order of registrations, which the database keeps by block and UID. */
function oldest(tenants: readonly Tenant[]): Tenant | undefined {
  return tenants.reduce<Tenant | undefined>(
    (first, each) =>
      !first || each.block < first.block || (each.block === first.block && each.uid < first.uid)
        ? each
        : first,
    undefined,
  )
}
