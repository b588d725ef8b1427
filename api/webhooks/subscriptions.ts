import { readFileSync } from 'node:fs'
import { Type, type Static } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { Webhook } from 'standardwebhooks'
import { filterOfTexts } from '../stream'
import type { SafeSender } from '../compute'
import { SettingsError, parseSettingsFile, schemaProblems } from '../../src/config'

/** At most so many subscriptions. */
export const MOST_SUBSCRIPTIONS = 10_000
/** Bytes that Standard Webhooks asks of a secret: 24 to 64. */
const SECRET = '^whsec_[A-Za-z0-9+/]{32,86}={0,2}$'

/** What is asked of a subscription, by the settings file and the admin API alike. */
export const SUBSCRIPTION_FIELDS = {
  url: Type.String({ maxLength: 2_048, description: 'Where messages are posted.' }),
  finality: Type.Optional(
    Type.Union([Type.Literal('final'), Type.Literal('latest')], {
      description: 'As `finality` of the stream. Default: final.',
    }),
  ),
  filter: Type.Optional(
    Type.Record(Type.String({ maxLength: 40 }), Type.String({ maxLength: 4_000 }), {
      description: 'The filters of the stream, by name.',
    }),
  ),
}
const SECRET_FIELD = Type.String({ pattern: SECRET, expected: 'whsec_ and 24 to 64 bytes in base64' })
const ROW = Type.Object(
  {
    id: Type.String({
      pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$',
      expected: 'at most 64 letters, digits, _ and -, the first a letter or digit',
    }),
    ...SUBSCRIPTION_FIELDS,
    secret: SECRET_FIELD,
    oldSecret: Type.Optional(SECRET_FIELD),
  },
  { additionalProperties: false },
)
const ROWS = Type.Array(ROW, { maxItems: MOST_SUBSCRIPTIONS })

/** A subscription as it is asked for; secrets with the newest first. */
export interface GivenSubscription {
  id: string
  url: string
  finality: 'latest' | 'final'
  filter: Readonly<Record<string, string>>
  secrets: readonly string[]
}

/** The subscriptions of WEBHOOKS_FILE. Throws a SettingsError that names each place. */
export function readWebhooksFile(file: string, sender: SafeSender): GivenSubscription[] {
  let value: unknown
  try {
    value = parseSettingsFile(readFileSync(file, 'utf8'))
  } catch (error) {
    throw wrong(file, (error as Error).message)
  }
  if (!Value.Check(ROWS, value))
    throw wrong(file, `expected a list of subscriptions; ${schemaProblems(ROWS, value)}`)
  const twice = value.find(({ id }, i) => value.findIndex((each) => each.id === id) !== i)
  if (twice) throw wrong(file, `two subscriptions have the id ${twice.id}`)
  return value.map((row) => {
    const problem = problemOf(row, sender)
    if (problem) throw wrong(file, `${row.id}: ${problem}`)
    const { id, url, finality = 'final', filter = {}, secret, oldSecret } = row
    return { id, url, finality, filter, secrets: oldSecret === undefined ? [secret] : [secret, oldSecret] }
  })
}

/** What is wrong with an address or a filter; undefined: nothing. */
export function problemOf(
  { url, filter = {} }: Pick<Static<typeof ROW>, 'url' | 'filter'>,
  sender: SafeSender,
): string | undefined {
  const problem = sender.problemOf(url)
  if (problem) return `url: ${problem}`
  try {
    filterOfTexts(filter)
    return undefined
  } catch (error) {
    const { message, detail } = error as Error & { detail?: string }
    return `filter: ${message}${detail === undefined ? '' : `: ${detail}`}`
  }
}

/** Whether the library takes a secret. */
export function isSecret(text: string): boolean {
  try {
    return new RegExp(SECRET).test(text) && Boolean(new Webhook(text))
  } catch {
    return false
  }
}

function wrong(file: string, message: string): SettingsError {
  return new SettingsError(`WEBHOOKS_FILE ${file}: ${message}`)
}
