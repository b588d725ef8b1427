import type { UidFields } from '../eas'

/**
 * EAS.getAttestation, alone or by Multicall3, as ABI bytes. Every attestation passes here: by hand this takes
 * a fifth of the time of a general codec.
 */

/** An attestation as EAS stores it, hex lower-case, without its revocation, which can change later. */
export interface AttestationBody extends Omit<UidFields, 'data'> {
  uid: string
  /** The payload; it may be a part of a larger answer. */
  data: Buffer
}

/** The address is the same on every chain that has the contract. */
export const MULTICALL3 = '0xca11bde05977b3631167028862be2a173976ca11'

/** Selectors of getAttestation(bytes32) and aggregate3((address,bool,bytes)[]). */
const GET_ATTESTATION = 'a3112a64'
const AGGREGATE3 = '82ad56cb'
const WORD = 32
/** Words of the struct Attestation (EAS, Common.sol); the last one is the place of `data`. */
const FIELDS = 10
/** Words of an aggregate3 call: address, allowFailure, place, length and 36 bytes of the call data. */
const CALL_WORDS = 6

/** The call data of getAttestation. */
export function attestationCall(uid: string): string {
  return `0x${GET_ATTESTATION}${uid.slice(2)}`
}

/** The call data of aggregate3 that calls getAttestation for each UID; none of them may fail. */
export function multicall(eas: string, uids: readonly string[]): string {
  const start = `${eas.slice(2).padStart(64, '0')}${word(0)}${word(3 * WORD)}${word(36)}${GET_ATTESTATION}`
  return [
    `0x${AGGREGATE3}${word(WORD)}${word(uids.length)}`,
    ...uids.map((_, i) => word(WORD * (uids.length + CALL_WORDS * i))),
    ...uids.map((uid) => start + uid.slice(2) + '0'.repeat(56)),
  ].join('')
}

/** A node answered another number of calls than it was asked. */
export class CountError extends RangeError {
  override readonly name = 'CountError'
}

/**
 * What each call of an aggregate3 answered. Throws a RangeError for an answer of another form, and a
 * CountError, before any is read, for one to another number of calls.
 */
export function multicallAnswers(answer: string, calls: number): Buffer[] {
  const bytes = bytesOf(answer)
  const list = place(bytes, 0)
  const start = list + WORD
  const count = place(bytes, list)
  if (count !== calls) throw new CountError(`asked for ${calls} attestations, the node answered ${count}`)
  return Array.from({ length: count }, (_, i) => {
    const result = start + place(bytes, start + WORD * i)
    return bytesAt(bytes, result + place(bytes, result + WORD))
  })
}

/**
 * What getAttestation answered, of every version of EAS. Bounds are checked here; the UID proves the content.
 * Throws a RangeError for an answer of another form.
 */
export function decodeAttestation(answer: Buffer): AttestationBody {
  const at = place(answer, 0)
  if (at + WORD * FIELDS > answer.length) throw new RangeError('it is too short')
  const hex = (field: number, from = 0) =>
    `0x${answer.toString('hex', at + WORD * field + from, at + WORD * (field + 1))}`
  const time = (field: number) => answer.readBigUInt64BE(at + WORD * field + 24)
  return {
    uid: hex(0),
    schema: hex(1),
    time: time(2),
    expirationTime: time(3),
    // 4 is the time of revocation.
    refUID: hex(5),
    recipient: hex(6, 12),
    attester: hex(7, 12),
    revocable: answer[at + WORD * 8 + 31] !== 0,
    data: bytesAt(answer, at + place(answer, at + WORD * 9)),
  }
}

/** The bytes of a hex text, up to what is no hex. */
export function bytesOf(text: string): Buffer {
  return Buffer.from(text.slice(2), 'hex')
}

function word(value: number): string {
  return value.toString(16).padStart(64, '0')
}

/** A length or an offset, which lies within the bytes itself and leads to a place within them. */
function place(bytes: Buffer, at: number): number {
  let high = 0
  for (let i = 0; i < WORD - 4; i += 4) high |= bytes.readUInt32BE(at + i)
  const value = bytes.readUInt32BE(at + WORD - 4)
  if (high !== 0 || value > bytes.length) throw new RangeError('it names a place beyond its end')
  return value
}

/** The `bytes` whose length stands at `at`. */
function bytesAt(bytes: Buffer, at: number): Buffer {
  const start = at + WORD
  const length = place(bytes, at)
  if (start + length > bytes.length) throw new RangeError('its bytes are cut')
  return bytes.subarray(start, start + length)
}
