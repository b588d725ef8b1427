// SPDX-License-Identifier: MIT
import { hashTypedData, recoverAddress, toHex } from 'viem'
import { DOMAIN_NAME, FIELDS, expandSignature, offchainUid } from '../../../src/eas/portable'
import { plain } from './body'
import { ZERO_HASH, keccakDigits, type AttestationData } from './eas'
import { same, ZERO_ADDRESS } from './says'
import { invalidInput, SignerError, messageOf } from './errors'
import type { Hex } from './reader'
import type { Wallet } from './signer'
import type { Chain, OffchainAttestation } from './types'

/** Reads and signs offchain attestations of EAS. */

/**
 * An offchain attestation: the file `{ sig, signer }` of EAS's explorer, an object of eas-sdk
 * (`signOffchainAttestation`) with BigInts, the JSON text of either, or the explorer's share link.
 */
export type OffchainSource = string | { sig: object; signer: string } | { message: object; signature: object }
/** The file format of EAS's explorer. */
export type OffchainFile = Extract<OffchainAttestation, { sig: object }>

/** Maximum characters of the text in a link, whose 262,144 bytes of data are twice as many hex digits. */
const MAX_LINKED = 600_000

/**
 * Implements `Geo.offchain`. The object of eas-sdk does not name its signer, which is then recovered from the
 * signature. Pass `signer` for a smart account, whose address cannot be recovered from its signature.
 * Throws an InvalidInputError for a value that is not an offchain attestation.
 */
export async function offchainInput(
  source: OffchainSource,
  signer?: string,
): Promise<{ attestation: OffchainAttestation }> {
  const given = plainly(await opened(source))
  const sig = (given.sig ?? given) as Partial<Signed>
  if (!sig.message || !sig.domain || !sig.types || sig.signature === undefined)
    throw invalidInput(
      'Expected an offchain attestation of EAS with domain, types, message and signature: the object of signOffchainAttestation, or the file { sig, signer } of the explorer.',
    )
  const named = (given.signer as string | undefined) ?? signer ?? (await recovered(sig as Signed))
  return { attestation: { sig, signer: named } as unknown as OffchainAttestation }
}

interface Signed {
  domain: object
  types: Record<string, unknown>
  message: object
  signature: { r: Hex; s: Hex; v: number | string } | { r: Hex; yParityAndS: Hex } | { r: Hex; vs: Hex } | Hex
}

async function recovered({ domain, types, message, signature }: Signed): Promise<string> {
  if (typeof signature === 'string' && expandSignature(signature).length !== 132)
    throw invalidInput(
      'The signature is a string, as for a smart account, so the signer is unknown. Name the ' +
        'signer, as in geo.offchain(attestation, address).',
    )
  try {
    const { r, s, v } =
      typeof signature !== 'string' && 'v' in signature ? signature : partsOf(bytesOf(signature))
    return await recoverAddress({
      // Only the signed type counts, because files of version 0 have another name as their primaryType.
      hash: hashTypedData({ domain, types, primaryType: Object.keys(types)[0]!, message } as never),
      signature: { r: r as Hex, s: s as Hex, v: BigInt(v) },
    })
  } catch {
    throw invalidInput(
      'No signer can be recovered from the signature of this attestation. Check that it is complete.',
    )
  }
}

/** Returns the 65 bytes of a signature that is one hex string, or the two parts of EIP-2098. */
function bytesOf(signature: Exclude<Signed['signature'], { v: unknown }>): string {
  if (typeof signature === 'string') return expandSignature(signature)
  const compact = 'yParityAndS' in signature ? signature.yParityAndS : signature.vs
  return expandSignature(`${signature.r}${compact.slice(2)}`)
}

/** Converts an offchain attestation to plain JSON. */
function plainly(source: OffchainSource): Record<string, unknown> {
  try {
    const given: unknown =
      typeof source === 'string' ? JSON.parse(source.replace(/^\ufeff/, '')) : plain(source)
    if (typeof given === 'object' && given !== null) return given as Record<string, unknown>
  } catch {
    // The statement after this block throws the error.
  }
  throw invalidInput(
    'Expected an offchain attestation: an object, its JSON text, or the link of the explorer.',
  )
}

/**
 * Decodes an explorer link. Its part after `#attestation=` is a JSON list, compressed with deflate and
 * encoded in base64. Returns other sources unchanged.
 */
async function opened(source: OffchainSource): Promise<OffchainSource> {
  const [, packed] = (typeof source === 'string' && /^[^{]*#attestation=([^&\s]+)\s*$/.exec(source)) || []
  if (packed === undefined) return source
  try {
    const bytes = Uint8Array.from(atob(decodeURIComponent(packed)), (letter) => letter.charCodeAt(0))
    const list = JSON.parse(await inflated(bytes)) as unknown[]
    const [domainVersion, chainId, verifyingContract, r, s, v, signer, uid, schema, recipient] = list
    const [time, expirationTime, refUID, revocable, data, , given, salt] = list.slice(10)
    const version = (given ?? 0) as 0 | 1 | 2
    const sig = {
      domain: { name: DOMAIN_NAME, version: domainVersion, chainId, verifyingContract },
      primaryType: version === 0 ? 'Attestation' : 'Attest',
      types: { Attest: FIELDS[version] },
      message: {
        ...{ version, schema, recipient: recipient === '0' ? ZERO_ADDRESS : recipient },
        ...{ time, expirationTime, revocable, refUID: refUID === '0' ? ZERO_HASH : refUID, data },
        ...(version === 2 && { salt }),
      },
      ...{ uid, signature: { r, s, v } },
    }
    // The link does not contain the name of the type of version 0, which is signed.
    const old = { ...sig, types: { Attestation: FIELDS[0] } }
    const isOld = version === 0 && same(await recovered(old as never), signer as string)
    return { sig: isOld ? old : sig, signer: signer as string }
  } catch {
    throw invalidInput(
      'The text after #attestation= in the link cannot be decoded. Check that the link is complete.',
    )
  }
}

/** Decompresses a text. Throws if it is longer than any attestation that the service reads. */
async function inflated(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const reader = new Blob([bytes])
    .stream()
    .pipeThrough(new DecompressionStream('deflate'))
    .pipeThrough(new TextDecoderStream())
    .getReader()
  for (let text = ''; ;) {
    const { done, value } = await reader.read()
    if (done) return text
    text += value
    if (text.length > MAX_LINKED) {
      await reader.cancel()
      throw new RangeError('too long')
    }
  }
}

/**
 * Signs an offchain attestation of version 2 with a fresh salt, as eas-sdk does. `time` is in Unix seconds;
 * `easVersion` is the version of the chain's contract. Throws a SignerError if the wallet does not sign.
 */
export async function signOffchain(
  wallet: Pick<Wallet, 'signTypedData'>,
  signer: string,
  { id, eas }: Pick<Chain, 'id' | 'eas'>,
  easVersion: string,
  { schema, time, ...content }: AttestationData & { schema: Hex; time: number },
): Promise<{ uid: Hex; attestation: OffchainFile }> {
  const salt = toHex(crypto.getRandomValues(new Uint8Array(32)))
  const { recipient, expirationTime, revocable, refUID, data } = content
  const fields = { recipient, time: BigInt(time), expirationTime, revocable, refUID, data }
  const domain = { name: DOMAIN_NAME, version: easVersion, chainId: id, verifyingContract: eas }
  const typed = {
    ...{ domain, primaryType: 'Attest', types: { Attest: [...FIELDS[2]] } },
    message: { version: 2, schema, ...fields, salt },
  }
  const signature = await wallet.signTypedData(typed, signer).catch((error: unknown) => {
    throw new SignerError(`The wallet did not sign the attestation: ${messageOf(error)}.`, { cause: error })
  })
  const uid = offchainUid(
    { version: 2, type: 'Attest', schema: schema.toLowerCase(), ...fields, salt },
    keccakDigits,
  ) as Hex
  const bytes = expandSignature(signature) as Hex
  const byKey = await recoverAddress({ hash: hashTypedData(typed as never), signature: bytes }).catch(
    () => '',
  )
  const sig = {
    ...{ version: 2, uid, ...typed, domain: { ...domain, chainId: String(id) } },
    message: { ...typed.message, time: String(time), expirationTime: String(expirationTime) },
    // A signature not made by the account's key belongs to a smart account. Only its contract can verify it.
    signature: same(byKey, signer) && bytes.length === 132 ? partsOf(bytes) : signature,
  }
  return { uid, attestation: { sig, signer } as OffchainFile }
}

function partsOf(bytes: string): { v: number; r: string; s: string } {
  const v = Number(`0x${bytes.slice(130)}`)
  return { v: v < 27 ? v + 27 : v, r: bytes.slice(0, 66), s: `0x${bytes.slice(66, 130)}` }
}
