// SPDX-License-Identifier: MIT
import { equal } from './bytes'
import type { Checkpoint } from './checkpoint'
import { TlogError } from './error'
import { formatVerifierKey, parseVerifierKey, type SignatureType, type VerifierKey } from './keys'
import { cosignatureTime, signatureBy } from './note'

/** A log or a witness of a policy. */
export interface PolicyKey {
  key: VerifierKey
  url?: string | undefined
}

/** The trusted logs, and the witnesses that must have cosigned a checkpoint (c2sp.org/tlog-policy). */
export interface Policy {
  logs: PolicyKey[]
  /** Witnesses by their name in the policy. */
  witnesses: Map<string, PolicyKey>
  /** Groups by name, in the order of the text: members are witnesses or earlier groups. */
  groups: Map<string, { threshold: number; members: string[] }>
  /** Name of a witness or a group; undefined if no cosignature is required (`quorum none`). */
  quorum: string | undefined
}

class PolicyReader {
  readonly policy: Policy = { logs: [], witnesses: new Map(), groups: new Map(), quorum: undefined }
  /** Names of witnesses and groups that already belong to a group. */
  readonly #members = new Set<string>()
  hasQuorum = false

  constructor(readonly line: (expected: string) => TlogError) {}

  read([keyword, ...items]: string[]): void {
    if (keyword === 'log' && (items.length === 1 || items.length === 2))
      this.policy.logs.push(this.#key(items[0]!, items[1], 'ed25519', this.policy.logs))
    else if (keyword === 'witness' && (items.length === 2 || items.length === 3)) {
      const known = [...this.policy.witnesses.values()]
      this.#define(items[0]!, this.policy.witnesses, this.#key(items[1]!, items[2], 'cosignature', known))
    } else if (keyword === 'group' && items.length >= 3) this.#group(items[0]!, items[1]!, items.slice(2))
    else if (keyword === 'quorum' && items.length === 1) this.#quorum(items[0]!)
    else
      throw this.line(
        'log <vkey> [<url>], witness <name> <vkey> [<url>], group <name> <k> <name>... or quorum <name>',
      )
  }

  #key(text: string, url: string | undefined, type: SignatureType, known: readonly PolicyKey[]): PolicyKey {
    let key: VerifierKey
    try {
      key = parseVerifierKey(text)
    } catch (error) {
      throw error instanceof TlogError ? this.line(error.message.replace(/^.*?expected |\.$/g, '')) : error
    }
    if (key.type !== type)
      throw this.line(type === 'ed25519' ? 'a key of signature type 1' : 'a key of signature type 4')
    if (known.some((other) => equal(other.key.publicKey, key.publicKey)))
      throw this.line('a key that no earlier line has')
    return { key, url }
  }

  #isDefined(name: string): boolean {
    return this.policy.witnesses.has(name) || this.policy.groups.has(name)
  }

  #define<Value>(name: string, names: Map<string, Value>, value: Value): void {
    if (name === 'none' || this.#isDefined(name)) throw this.line('a new name other than none')
    names.set(name, value)
  }

  #group(name: string, rule: string, members: string[]): void {
    for (const member of members) {
      if (!this.#isDefined(member)) throw this.line('members that earlier lines define')
      if (this.#members.has(member)) throw this.line('members of no other group, each once')
      this.#members.add(member)
    }
    const threshold = rule === 'any' ? 1 : rule === 'all' ? members.length : Number(rule)
    if (!/^(?:any|all|[1-9][0-9]*)$/.test(rule) || threshold > members.length)
      throw this.line(`any, all or a number from 1 to ${members.length}`)
    this.#define(name, this.policy.groups, { threshold, members })
  }

  #quorum(name: string): void {
    if (this.hasQuorum) throw this.line('one quorum line')
    if (name !== 'none' && !this.#isDefined(name)) throw this.line('a name that an earlier line defines')
    this.hasQuorum = true
    this.policy.quorum = name === 'none' ? undefined : name
  }
}

/** Parses the text of a policy. Throws a TlogError with the number of the line. */
export function parsePolicy(text: string): Policy {
  if (/[\u0000-\u0008\u000b-\u001f\u007f]/.test(text))
    throw new TlogError('policy', 'no control characters except tab and newline')
  let number = 0
  const reader = new PolicyReader((expected) => new TlogError(`policy, line ${number}`, expected))
  for (const line of text.split('\n')) {
    number++
    const items = line.split(/[ \t]+/).filter((item) => item !== '')
    if (items.length > 0 && !items[0]!.startsWith('#')) reader.read(items)
  }
  if (!reader.hasQuorum) throw new TlogError('policy', 'a quorum line')
  return reader.policy
}

/** Text of a policy, which `parsePolicy` reads. */
export function formatPolicy({ logs, witnesses, groups, quorum = 'none' }: Policy): string {
  return [
    ...logs.map((log) => `log ${formatKey(log)}`),
    ...[...witnesses].map(([name, witness]) => `witness ${name} ${formatKey(witness)}`),
    ...[...groups].map(([name, { threshold, members }]) => `group ${name} ${threshold} ${members.join(' ')}`),
    `quorum ${quorum}\n`,
  ].join('\n')
}

const formatKey = ({ key, url }: PolicyKey) =>
  url === undefined ? formatVerifierKey(key) : `${formatVerifierKey(key)} ${url}`

/** Signers of a checkpoint that the policy names. */
export interface Signers {
  /** Log whose signature is valid. */
  log: PolicyKey
  /** Witnesses whose cosignature is valid, by their name in the policy, with its time in Unix seconds. */
  cosigned: Map<string, number>
  /** True if the quorum of the policy has cosigned. */
  isQuorum: boolean
}

/** Verifies a checkpoint. Throws a TlogError if no log of the policy signed it, or a signature is invalid. */
export async function signersOf(checkpoint: Checkpoint, policy: Policy): Promise<Signers> {
  const { note, origin } = checkpoint
  let log: PolicyKey | undefined
  for (const each of policy.logs)
    if (each.key.name === origin && (await signatureBy(note, each.key))) log ??= each
  if (!log) throw new TlogError('checkpoint', `a signature by a log of the policy with the origin ${origin}`)
  const cosigned = new Map<string, number>()
  for (const [name, { key }] of policy.witnesses) {
    const signature = await signatureBy(note, key)
    if (signature) cosigned.set(name, cosignatureTime(signature))
  }
  return { log, cosigned, isQuorum: isQuorum(policy, cosigned.keys()) }
}

/** True if these witnesses satisfy the quorum of a policy; a policy without a quorum needs no witness. */
export function isQuorum({ quorum, groups }: Policy, witnesses: Iterable<string>): boolean {
  const agreeing = new Set(witnesses)
  for (const [name, { threshold, members }] of groups)
    if (members.filter((member) => agreeing.has(member)).length >= threshold) agreeing.add(name)
  return quorum === undefined || agreeing.has(quorum)
}
