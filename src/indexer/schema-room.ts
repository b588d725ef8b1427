import type { FoundSchema } from './store'

/** A registered schema that is indexed, and so occupies one of the places of the room. */
export type Tenant = Pick<FoundSchema, 'uid' | 'registerer' | 'block'>

/** Maximum number of attesters counted per schema. One with this many counts towards no account's share. */
export const SEVERAL = 2

/**
 * The found schemas of a chain that are indexed, at most `most`. Anyone may register schemas, so places are
 * assigned by use. If no place is free, a new schema replaces one without attestations. A schema with
 * attestations keeps its place, because its revocations must be read. An account has `share` places for
 * schemas that fewer than two accounts attest by.
 */
export class SchemaRoom {
  private readonly share: number

  constructor(
    private readonly most: number,
    /** Schemas with a place, by UID. */
    private readonly tenants = new Map<string, Tenant>(),
    /** For each schema, the accounts that have attested by it, at most SEVERAL. */
    private readonly attesters = new Map<string, Set<string>>(),
  ) {
    this.share = Math.ceil(most / 20)
  }

  /** Returns a copy of the places for tentative decisions. Both share the attesters. */
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

  /** Returns the number of accounts that have attested by a schema, at most SEVERAL. */
  usersOf(uid: string): number {
    return this.attesters.get(uid)?.size ?? 0
  }

  /** Adds the attester of an attestation. */
  use(uid: string, attester: string): void {
    const known = this.attesters.get(uid)
    if (!known) this.attesters.set(uid, new Set([attester]))
    else if (known.size < SEVERAL) known.add(attester)
  }

  /** Assigns a schema a place without any check, because it was decided earlier. */
  put(tenant: Tenant): void {
    this.tenants.set(tenant.uid, tenant)
  }

  leave(uid: string): void {
    this.tenants.delete(uid)
  }

  /** Assigns a schema a place if one is free. Returns true if it has one. */
  enterFree(tenant: Tenant): boolean {
    if (this.isFull || this.isShareFull(tenant)) return false
    this.put(tenant)
    return true
  }

  /**
   * Assigns a schema a place. `left` is the schema that it replaced. `entered` is false if that would be
   * itself, because no older one is unused: the order in which registrations are read makes no difference.
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

  /** True if schemas that the account registered fill its share. */
  private isShareFull({ registerer }: Tenant): boolean {
    if (registerer === null) return false
    let taken = 0
    for (const each of this.tenants.values())
      if (each.registerer === registerer && this.usersOf(each.uid) < SEVERAL) taken++
    return taken >= this.share
  }

  /** Returns the oldest unused schema of the account that has the most unused schemas. */
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

/** Returns the first schema in the order of registrations: by block, then by UID. */
function oldest(tenants: readonly Tenant[]): Tenant | undefined {
  return tenants.reduce<Tenant | undefined>(
    (first, each) =>
      !first || each.block < first.block || (each.block === first.block && each.uid < first.uid)
        ? each
        : first,
    undefined,
  )
}
