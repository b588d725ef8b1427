// SPDX-License-Identifier: MIT
import { concat, fromBase64, fromBigEndian, toBase64, toBigEndian, type Bytes } from './bytes'
import { sign, verify } from './ed25519'
import { TlogError } from './error'
import { checkKeyName, type SignerKey, type VerifierKey } from './keys'

/** Signed note (c2sp.org/signed-note). Verify a signature before you trust its text. */
export interface Note {
  /** Signed text, with its final newline. */
  text: string
  signatures: NoteSignature[]
}

/** A signature line of a note. */
export interface NoteSignature {
  name: string
  /** ID of the key */
  id: number
  /** Encoded signature; a cosignature has 8 bytes of time, then 64 bytes of Ed25519. */
  bytes: Bytes
}

/** Maximum length of a note in bytes, and maximum number of its signatures, as in Go's package note. */
const MAX_LENGTH = 1_000_000
const MAX_SIGNATURES = 100
const FORBIDDEN = /[\u0000-\u0009\u000b-\u001f\p{Cs}]/u

/** Parses signature lines, each with its newline, from a note or a witness's response. */
export function parseSignatures(lines: string): NoteSignature[] {
  if (lines.length > MAX_LENGTH) throw new TlogError('signatures', `at most ${MAX_LENGTH} characters`)
  if (!lines.endsWith('\n'))
    throw new TlogError('signatures', 'one line or more, each with a newline at its end')
  const signatures = lines.slice(0, -1).split('\n')
  if (signatures.length > MAX_SIGNATURES) throw new TlogError('signatures', `at most ${MAX_SIGNATURES}`)
  return signatures.map((line) => {
    const [, name, encoded] = /^\u2014 ([^ ]+) ([^ ]+)$/.exec(line) ?? []
    if (name === undefined) throw new TlogError('signature', 'an em dash, a key name and base64')
    checkKeyName('key name of the signature', name)
    const bytes = fromBase64('signature', encoded!)
    if (bytes.length < 5) throw new TlogError('signature', 'a key ID of 4 bytes and a signature')
    return { name, id: fromBigEndian(bytes.subarray(0, 4)), bytes: bytes.slice(4) }
  })
}

/** Parses a signed note. Throws a TlogError. */
export function parseNote(note: string): Note {
  if (note.length > MAX_LENGTH) throw new TlogError('note', `at most ${MAX_LENGTH} characters`)
  if (FORBIDDEN.test(note)) throw new TlogError('note', 'Unicode without control characters')
  const end = note.lastIndexOf('\n\n')
  if (end < 0) throw new TlogError('note', 'a text, an empty line and signatures')
  return { text: note.slice(0, end + 1), signatures: parseSignatures(note.slice(end + 2)) }
}

/** Signature line with its newline. */
export function formatSignature({ name, id, bytes }: NoteSignature): string {
  return `\u2014 ${name} ${toBase64(concat(toBigEndian(id, 4), bytes))}\n`
}

/** A signed note as text. The text ends with a newline. */
export function formatNote({ text, signatures }: Note): string {
  return `${text}\n${signatures.map(formatSignature).join('')}`
}

/** Bytes that an Ed25519 cosignature signs (c2sp.org/tlog-cosignature). */
const cosigned = (text: string, time: number) => concat(`cosignature/v1\ntime ${time}\n`, text)
/** Number of bytes of the time in a cosignature. */
const TIME_SIZE = 8

/** Signs a note's text. A witness's key states `time` in Unix seconds; a log's key does not. */
export async function signNote(text: string, key: SignerKey, time = 0): Promise<NoteSignature> {
  const { name, id, type, seed } = key
  const bytes =
    type === 'ed25519'
      ? await sign(seed, concat(text))
      : concat(toBigEndian(time, TIME_SIZE), await sign(seed, cosigned(text, time)))
  return { name, id, bytes: Uint8Array.from(bytes) }
}

/** Unix seconds that a cosignature states. */
export function cosignatureTime({ bytes }: NoteSignature): number {
  return fromBigEndian(bytes.subarray(0, TIME_SIZE))
}

/** True if the signature is valid for the text and the key. The caller has matched the key's name and ID. */
async function isSignatureOf(text: string, { bytes }: NoteSignature, key: VerifierKey): Promise<boolean> {
  if (key.type === 'ed25519') return bytes.length === 64 && verify(key.publicKey, concat(text), bytes)
  const time = fromBigEndian(bytes.subarray(0, TIME_SIZE))
  if (bytes.length !== TIME_SIZE + 64 || !Number.isSafeInteger(time)) return false
  return verify(key.publicKey, cosigned(text, time), bytes.slice(TIME_SIZE))
}

/** Returns the signature by a key; undefined if there is none. Throws a TlogError if it is not valid. */
export async function signatureBy(note: Note, key: VerifierKey): Promise<NoteSignature | undefined> {
  const own = note.signatures.filter(({ name, id }) => name === key.name && id === key.id)
  for (const signature of own)
    if (!(await isSignatureOf(note.text, signature, key)))
      throw new TlogError(`signature by ${key.name}`, 'a valid Ed25519 signature of the text')
  return own[0]
}
