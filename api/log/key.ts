import {
  EMPTY_ROOT,
  formatCheckpoint,
  formatNote,
  formatSignerKey,
  generateSignerKey,
  parseSignerKey,
  signNote,
  type SignerKey,
} from '../../src/tlog'
import type { LogStore } from './store'

/** End of a reason for a closed log that only its operator can remove. */
export const NEW_LOG = 'start a new log (docs/operations/log.md).'
export const needsOperator = (reason: string) => reason.endsWith(NEW_LOG)

/**
 * Returns the key of the log: the setting LOG_KEY, or the key that the first process generated and stored.
 * Creates the log if the database has none. Throws an Error if the key is unknown.
 * @param origin origin of the log, if its key is generated
 */
export async function openKey(
  store: LogStore,
  given: SignerKey | undefined,
  origin: string,
): Promise<SignerKey> {
  if (!(await store.state())) {
    const key = given ?? (await generateSignerKey(origin, 'ed25519'))
    const head = { origin: key.name, size: 0, root: EMPTY_ROOT }
    const checkpoint = await signedCheckpoint(head, key)
    await store.create({ ...head, key: given ? null : formatSignerKey(key), checkpoint })
  }
  if (given) return given
  const { key, origin: stored } = (await store.state())!
  if (key === null)
    throw new Error(
      `LOG_KEY: missing. The log ${stored} was created with this setting: set it to the key of the log, or ${NEW_LOG}`,
    )
  return parseSignerKey(key)
}

/** Checkpoint of a tree, signed by the log. */
export async function signedCheckpoint(head: Parameters<typeof formatCheckpoint>[0], key: SignerKey) {
  const text = formatCheckpoint(head)
  return formatNote({ text, signatures: [await signNote(text, key)] })
}

/** Origin of a log at a public URL: the URL of its tiles without the scheme (c2sp.org/tlog-checkpoint). */
export function originOf(publicBaseUrl: string): string {
  const { host, pathname } = new URL(publicBaseUrl)
  return `${host}${pathname.replace(/\/+$/, '')}/log/v0`
}
