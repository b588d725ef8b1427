import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { PKCS11 } from 'pkcs11js'

/** SoftHSM, a PKCS#11 token in software, from Debian's package, with tokens in a folder of the test. */

const MODULE = ['/usr/lib/softhsm/libsofthsm2.so', '/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so'].find(
  (file) => existsSync(file),
)
const PIN = '5678'

type Pkcs11js = typeof import('pkcs11js')
let pkcs11: Pkcs11js | undefined
try {
  pkcs11 = require('pkcs11js') as Pkcs11js // oxlint-disable-line typescript/no-require-imports -- it may be missing
} catch {
  pkcs11 = undefined
}
/** Missing packages. A test that needs them is skipped and names them. */
export const MISSING_FOR_TOKENS = [MODULE ? [] : 'softhsm2', pkcs11 ? [] : 'pkcs11js'].flat()

export interface SoftToken {
  /**
   * Settings of a process that signs with a key of the token.
   * @param parts of the URL that differ
   */
  environment(key?: string, parts?: { token?: string; module?: string }): NodeJS.ProcessEnv
  /**
   * Creates a key pair whose private key never leaves the token.
   * @param id in hex
   */
  makeKey(label: string, id: string, curve?: string): void
  /** Logs in with the right PIN, which permits further logins. */
  logIn(): void
  /** the token's response to a request for the private key */
  extract(label: string): string
}

/** An empty token. Sets SOFTHSM2_CONF of this process: each needs its own folder. */
export function makeToken(folder: string, label: string): SoftToken {
  const { PKCS11: Library, ...names } = pkcs11!
  const conf = path.join(folder, 'softhsm2.conf')
  const pinFile = path.join(folder, 'pin')
  mkdirSync(path.join(folder, 'tokens'), { recursive: true })
  writeFileSync(conf, `directories.tokendir = ${path.join(folder, 'tokens')}\nobjectstore.backend = file\n`)
  writeFileSync(pinFile, `${PIN}\n`)
  process.env.SOFTHSM2_CONF = conf
  const library = new Library()
  library.load(MODULE!)
  try {
    library.C_Initialize()
  } catch (error) {
    if ((error as { code?: number }).code !== 0x191) throw error
  }
  // SoftHSM always lists an empty token after the existing ones.
  library.C_InitToken(library.C_GetSlotList(true).at(-1)!, '1234', label)
  const slot = library
    .C_GetSlotList(true)
    .find((each) => library.C_GetTokenInfo(each).label.replace(/[ \0]+$/, '') === label)!
  /** Runs with a session in which the user is logged in. */
  const within = <T>(work: (session: Buffer, library: PKCS11) => T): T => {
    const session = library.C_OpenSession(slot, names.CKF_RW_SESSION | names.CKF_SERIAL_SESSION)
    try {
      library.C_Login(session, names.CKU_USER, PIN)
      return work(session, library)
    } finally {
      library.C_CloseAllSessions(slot)
    }
  }
  const officer = library.C_OpenSession(slot, names.CKF_RW_SESSION | names.CKF_SERIAL_SESSION)
  library.C_Login(officer, names.CKU_SO, '1234')
  library.C_InitPIN(officer, PIN)
  library.C_CloseAllSessions(slot)
  return {
    environment: (key = 'object=signer', { token = label, module = MODULE! } = {}) => ({
      ...{ SOFTHSM2_CONF: conf, SIGNER_PKCS11_PIN_FILE: pinFile },
      SIGNER_URL: `pkcs11:token=${token};${key};type=private?module-path=${module}`,
    }),
    makeKey: (name, id, curve = '06052b8104000a') =>
      void within((session) => {
        const common = [
          { type: names.CKA_TOKEN, value: true },
          { type: names.CKA_LABEL, value: name },
          { type: names.CKA_ID, value: Buffer.from(id, 'hex') },
        ]
        library.C_GenerateKeyPair(
          session,
          { mechanism: names.CKM_EC_KEY_PAIR_GEN },
          [...common, { type: names.CKA_EC_PARAMS, value: Buffer.from(curve, 'hex') }],
          [
            ...common,
            { type: names.CKA_PRIVATE, value: true },
            { type: names.CKA_SENSITIVE, value: true },
            { type: names.CKA_EXTRACTABLE, value: false },
            { type: names.CKA_SIGN, value: true },
          ],
        )
      }),
    logIn: () => within(() => {}),
    extract: (name) =>
      within((session) => {
        library.C_FindObjectsInit(session, [
          { type: names.CKA_CLASS, value: names.CKO_PRIVATE_KEY },
          { type: names.CKA_LABEL, value: name },
        ])
        const [key] = library.C_FindObjects(session, 1)
        library.C_FindObjectsFinal(session)
        try {
          return library
            .C_GetAttributeValue(session, key!, [{ type: names.CKA_VALUE }])
            .map(String)
            .join()
        } catch (error) {
          return (error as Error).message
        }
      }),
  }
}
