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

/** Source of the log's key: the setting LOG_KEY, or a key that the first process generates and stores. */
export class KeySource {
  /** @param origin origin of the log, if its key is generated */
  constructor(
    private readonly given: SignerKey | undefined,
    private readonly origin: string,
  ) {}

  /** Returns the key. Creates the log if the database has none. Throws an Error if the key is unknown. */
  async open(store: LogStore): Promise<SignerKey> {
    if (!(await store.state())) await this.create(store)
    if (this.given) return this.given
    const { key, origin } = (await store.state())!
    if (key === null)
      throw new Error(
        `LOG_KEY: missing. The log ${origin} was created with this setting: set it to the key of the log, or ${NEW_LOG}`,
      )
    return parseSignerKey(key)
  }

  private async create(store: LogStore): Promise<void> {
    const key = this.given ?? (await generateSignerKey(this.origin, 'ed25519'))
    const text = formatCheckpoint({ origin: key.name, size: 0, root: EMPTY_ROOT })
    await store.create({
      origin: key.name,
      key: this.given ? null : formatSignerKey(key),
      root: EMPTY_ROOT,
      checkpoint: formatNote({ text, signatures: [await signNote(text, key)] }),
    })
  }
}

/** Origin of a log at a public URL: the URL of its tiles without the scheme (c2sp.org/tlog-checkpoint). */
export function originOf(publicBaseUrl: string): string {
  const { host, pathname } = new URL(publicBaseUrl)
  return `${host}${pathname.replace(/\/+$/, '')}/log/v0`
}
