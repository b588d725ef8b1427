import { parentPort, workerData } from 'node:worker_threads'
import type { Handle, PKCS11 } from 'pkcs11js'

/** Thread of a token: it opens a session, then signs one digest after another. */

export interface Token {
  module: string
  token: string
  /** Label of the key, or `id:` and its id in hex. */
  key: string
  pin: string
}
/**
 * The first message: the public key (x and y, 64 bytes), or a problem of the settings or the token. It is
 * final if the token refused the PIN.
 */
export type Opened = { publicKey: Uint8Array } | { problem: string; isFinal: boolean }
/** Response for each digest: r and s, 64 bytes. */
export type Signed = { id: number } & ({ signature: Uint8Array } | { problem: string })

/** Codes of PKCS#11 2.40 for a state that the process, not the thread, has already reached. */
const ALREADY_INITIALIZED = 0x191
const ALREADY_LOGGED_IN = 0x100
/** Codes for a PIN that is incorrect, locked or expired: further tries would lock the token. */
const PIN_REFUSED: ReadonlySet<unknown> = new Set([0xa0, 0xa1, 0xa2, 0xa3, 0xa4])
/** DER of the curve's object identifier, 1.3.132.0.10 (SEC 2). */
const SECP256K1 = '06052b8104000a'

const NO_PACKAGE =
  'SIGNER_URL: the optional package pkcs11js is not installed, or was not compiled. Install ' +
  'with `npm ci` on a machine with Python and a C++ compiler (in Docker: ' +
  'docs/operations/keys.md), or use another kind of signer.'

// Not called `module`, because CommonJS reserves this name.
const { module: file, token, key, pin } = workerData as Token

type Pkcs11js = typeof import('pkcs11js')
interface Session {
  library: PKCS11
  handle: Handle
  privateKey: Handle
  publicKey: Uint8Array
}

class TokenError extends Error {}

let package11: Pkcs11js
let pinRefused = false

function load(): PKCS11 {
  try {
    package11 = require('pkcs11js') as Pkcs11js // oxlint-disable-line typescript/no-require-imports -- it may be missing
  } catch {
    throw new TokenError(NO_PACKAGE)
  }
  const library = new package11.PKCS11()
  attempt('SIGNER_URL: module-path', `${file} cannot be loaded`, () => library.load(file))
  attempt('SIGNER_URL: module-path', `${file} cannot be used`, () =>
    unless(ALREADY_INITIALIZED, () => library.C_Initialize({ flags: package11.CKF_OS_LOCKING_OK })),
  )
  return library
}

function open(library: PKCS11): Session {
  if (pinRefused) throw new TokenError('SIGNER_PKCS11_PIN_FILE: the token rejects this PIN')
  const slots = library
    .C_GetSlotList(true)
    .filter((slot) => plain(library.C_GetTokenInfo(slot).label) === token)
  if (slots.length !== 1)
    throw new TokenError(
      `SIGNER_URL: token: ${slots.length || 'no'} token${slots.length ? 's have' : ' has'} the label '${token}'`,
    )
  const { CKF_USER_PIN_COUNT_LOW, CKF_USER_PIN_FINAL_TRY, CKF_USER_PIN_LOCKED } = package11
  // A supervisor that restarts this process would otherwise use up the remaining tries with an incorrect PIN.
  if (
    library.C_GetTokenInfo(slots[0]!).flags &
    (CKF_USER_PIN_COUNT_LOW | CKF_USER_PIN_FINAL_TRY | CKF_USER_PIN_LOCKED)
  )
    throw new TokenError(
      `SIGNER_PKCS11_PIN_FILE: the token '${token}' has rejected a PIN, or is locked. Correct the file, and ` +
        'log in once by hand (docs/operations/keys.md).',
    )
  // Closes sessions that were opened before a reset. No other thread of this process uses the token.
  library.C_CloseAllSessions(slots[0]!)
  const handle = library.C_OpenSession(slots[0]!, package11.CKF_SERIAL_SESSION)
  attempt('SIGNER_PKCS11_PIN_FILE', `the token '${token}' rejects it`, () =>
    unless(ALREADY_LOGGED_IN, () => library.C_Login(handle, package11.CKU_USER, pin)),
  )
  const privateKey = find(library, handle, package11.CKO_PRIVATE_KEY, 'private')
  const of = find(library, handle, package11.CKO_PUBLIC_KEY, 'public')
  const [curve, point] = library
    .C_GetAttributeValue(handle, of, [{ type: package11.CKA_EC_PARAMS }, { type: package11.CKA_EC_POINT }])
    .map(({ value }) => value)
  // The point is uncompressed, in a DER octet string (PKCS#11 2.40, 2.3.3); some tokens return it bare.
  const publicKey = point!.subarray(-64)
  if (curve!.toString('hex') !== SECP256K1 || ![65, 67].includes(point!.length))
    throw new TokenError(`SIGNER_URL: the key '${key}' is not on the curve secp256k1`)
  return { library, handle, privateKey, publicKey }
}

function find(library: PKCS11, session: Handle, kind: number, name: string): Handle {
  const which = key.startsWith('id:')
    ? { type: package11.CKA_ID, value: Buffer.from(key.slice(3), 'hex') }
    : { type: package11.CKA_LABEL, value: key }
  library.C_FindObjectsInit(session, [{ type: package11.CKA_CLASS, value: kind }, which])
  const found = library.C_FindObjects(session, 2)
  library.C_FindObjectsFinal(session)
  if (found.length !== 1)
    throw new TokenError(
      `SIGNER_URL: the token '${token}' has ${found.length ? 'several' : 'no'} ${name} keys ` +
        `'${key}'. Exactly one private and one public key must have this label or id.`,
    )
  return found[0]!
}

/** Removes the padding of a label, spaces or zeros. */
function plain(label: string): string {
  return label.replace(/[ \0]+$/, '')
}

/** Runs a call, and ignores the error with this code. */
function unless(code: number, call: () => void): void {
  try {
    call()
  } catch (error) {
    if ((error as { code?: number }).code !== code) throw error
  }
}

/** Runs a call whose failure is caused by a setting. Throws a TokenError. */
function attempt(setting: string, what: string, call: () => void): void {
  try {
    call()
  } catch (error) {
    pinRefused ||= PIN_REFUSED.has((error as { code?: number }).code)
    throw new TokenError(`${setting}: ${what} (${(error as Error).message})`)
  }
}

function signBy({ library, handle, privateKey }: Session, digest: Uint8Array): Uint8Array {
  library.C_SignInit(handle, { mechanism: package11.CKM_ECDSA }, privateKey)
  return library.C_Sign(handle, Buffer.from(digest), Buffer.alloc(64))
}

function main(port: NonNullable<typeof parentPort>): void {
  let library: PKCS11
  let session: Session | undefined
  try {
    library = load()
    session = open(library)
    port.postMessage({ publicKey: Uint8Array.from(session.publicKey) } satisfies Opened)
  } catch (error) {
    const problem =
      error instanceof TokenError
        ? error.message
        : `SIGNER_URL: module-path: ${file} failed with ${(error as Error).message}`
    return port.postMessage({ problem, isFinal: pinRefused } satisfies Opened)
  }
  port.on('message', ({ id, digest }: { id: number; digest: Uint8Array }) => {
    const signed = ((): Signed => {
      try {
        try {
          return { id, signature: signBy((session ??= open(library)), digest) }
        } catch {
          // The token was reset or reinserted, which ended its sessions.
          session = undefined
          session = open(library)
          return { id, signature: signBy(session, digest) }
        }
      } catch (error) {
        return { id, problem: (error as Error).message }
      }
    })()
    port.postMessage(signed)
  })
}

main(parentPort!)
