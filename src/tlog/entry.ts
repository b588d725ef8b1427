// SPDX-License-Identifier: MIT
import { fromBigEndian, toHex, writeBigEndian, writeHex, type Bytes } from './bytes'
import { TlogError } from './error'
import { MAX_ENTRY_BYTES } from './tiles'

/** Kinds of signatures. Refusals are not signed, so an entry about one would prove nothing. */
export const ENTRY_KINDS = { answer: 1, batch: 2, resigned: 3, quorum: 4 } as const
export type EntryKind = keyof typeof ENTRY_KINDS

/** Seconds from an entry's time to `log.by`. Clients encode the entry with `by - INCLUSION_SECONDS`. */
export const INCLUSION_SECONDS = 60

/** Typed data of a signature (EIP-712): a layout of EAS or its proxy, or GeoQuorum's. */
export const ENTRY_LAYOUTS = { legacy: 1, v1: 2, v2: 3, proxy: 4, quorum: 5 } as const
export type EntryLayout = keyof typeof ENTRY_LAYOUTS

/**
 * A signature as the log records it, with all fields of its EIP-712 digest, so that it cannot name another
 * digest. Hex is lower-case, with 0x. `data` names inputs by reference: no coordinates, texts or salts.
 */
export interface Entry extends Record<NumberField, number>, Record<HexField, string> {
  kind: EntryKind
  layout: EntryLayout
  revocable: boolean
  /** ABI-encoded payload of the attestation. */
  data: string
}

/** Fields of fixed length before the payload: name, number of bytes, and form. */
const HEAD = [
  ['version', 1, 'code'],
  ['kind', 1, 'code'],
  /** Unix seconds at which the attestation was signed. */
  ['time', 8, 'number'],
  ['chainId', 8, 'number'],
  /** Address of the signer. */
  ['attester', 20, 'hex'],
  ['layout', 1, 'code'],
  /** EIP-712 domain separator of the contract that accepts the signature. */
  ['separator', 32, 'hex'],
  /** Signed fields. Those that the layout does not have are zero. */
  ['schema', 32, 'hex'],
  ['recipient', 20, 'hex'],
  ['expirationTime', 8, 'number'],
  ['revocable', 1, 'code'],
  ['refUID', 32, 'hex'],
  /** Nonce of the attester in EAS, or the epoch of a quorum. */
  ['nonce', 8, 'number'],
  ['deadline', 8, 'number'],
  /** r, s and v. */
  ['signature', 65, 'hex'],
] as const
type FieldOf<Form> = Extract<(typeof HEAD)[number], readonly [string, number, Form]>[0]
type NumberField = FieldOf<'number'>
type HexField = FieldOf<'hex'>

const VERSION = 1
const HEAD_BYTES = HEAD.reduce((sum, [, size]) => sum + size, 0)
/** Maximum number of bytes of a payload. */
export const MAX_DATA_BYTES = MAX_ENTRY_BYTES - HEAD_BYTES

/** Bytes of an entry: the fields of HEAD, numbers big-endian, and the payload. Throws a TlogError. */
export function encodeEntry(entry: Entry): Bytes {
  const size = Math.floor((entry.data.length - prefixOf(entry.data)) / 2)
  if (size > MAX_DATA_BYTES) throw new TlogError('data', `at most ${MAX_DATA_BYTES} bytes`)
  const codes = {
    ...{ version: VERSION, kind: ENTRY_KINDS[entry.kind], layout: ENTRY_LAYOUTS[entry.layout] },
    revocable: Number(entry.revocable),
  }
  const bytes = new Uint8Array(HEAD_BYTES + size)
  let at = 0
  for (const [name, length, form] of HEAD) {
    if (form === 'hex') writeHex(name, entry[name], prefixOf(entry[name]), bytes, at, length)
    else writeBigEndian(form === 'code' ? codes[name] : entry[name], bytes, at, length)
    at += length
  }
  writeHex('data', entry.data, prefixOf(entry.data), bytes, at, size)
  return bytes
}

/** Length of the prefix 0x of a hex text, which is optional. */
const prefixOf = (text: string) => (text.startsWith('0x') ? 2 : 0)

/** Decodes an entry, the inverse of `encodeEntry`. Throws a TlogError. */
export function decodeEntry(bytes: Uint8Array): Entry {
  if (bytes.length < HEAD_BYTES || bytes.length > MAX_ENTRY_BYTES)
    throw new TlogError('entry', `${HEAD_BYTES} to ${MAX_ENTRY_BYTES} bytes`)
  let at = 0
  const fields = Object.fromEntries(
    HEAD.map(([name, size, form]) => {
      const part = bytes.subarray(at, (at += size))
      const value = fromBigEndian(part)
      if (form === 'number' && !Number.isSafeInteger(value)) throw new TlogError(name, 'a number below 2^53')
      return [name, form === 'hex' ? `0x${toHex(part)}` : value]
    }),
  ) as Record<NumberField | FieldOf<'code'>, number> & Record<HexField, string>
  const { version, kind, layout, revocable, ...rest } = fields
  if (version !== VERSION) throw new TlogError('version', String(VERSION))
  if (revocable > 1) throw new TlogError('revocable', '0 or 1')
  return {
    ...rest,
    ...{ kind: nameOf('kind', ENTRY_KINDS, kind), layout: nameOf('layout', ENTRY_LAYOUTS, layout) },
    ...{ revocable: revocable === 1, data: `0x${toHex(bytes.subarray(at))}` },
  }
}

function nameOf<Name extends string>(field: string, codes: Record<Name, number>, code: number): Name {
  const names = Object.keys(codes) as Name[]
  const found = names.find((name) => codes[name] === code)
  if (!found) throw new TlogError(field, `a number from 1 to ${names.length}`)
  return found
}
