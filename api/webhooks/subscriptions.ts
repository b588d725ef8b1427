import { readFileSync } from 'node:fs'
import { Type, type Static } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { filterOfTexts } from '../stream'
import { withRules } from '../http/validation'
import type { SafeSender } from '../outgoing'
import type { GivenSubscription } from './store'
import { SettingsError, parseSettingsList, schemaProblems } from '../../src/config'

export const MOST_SUBSCRIPTIONS = 10_000

/** Fields of a subscription, in the settings file and in the admin API. */
export const SUBSCRIPTION_FIELDS = {
  url: withRules(Type.String({ maxLength: 2_048, description: 'URL to which messages are posted.' }), {
    type: 'expected an http(s) URL of at most 2048 characters',
  }),
  finality: Type.Optional(
    Type.Union([Type.Literal('final'), Type.Literal('latest')], {
      description: 'As `finality` of the stream. Default: final.',
    }),
  ),
  filter: Type.Optional(
    withRules(
      Type.Record(
        Type.String({ maxLength: 40 }),
        withRules(Type.String({ maxLength: 4_000 }), {
          type: 'expected a string, as in the query of the stream: {"bbox": "2.2,48.8,2.4,48.9"}',
        }),
        { description: 'Filters of the stream, by name.' },
      ),
      {
        type: 'expected an object of strings by name of filter, such as {"chain": "celo"}',
      },
    ),
  ),
}
const SECRET_FORM = 'whsec_ and 24 to 64 bytes in base64'
/** Secret of Standard Webhooks, in the settings file and in the admin API. */
export const SECRET_FIELD = withRules(
  Type.String({
    pattern: '^whsec_[A-Za-z0-9+/]{32,86}={0,2}$',
    description: '`whsec_` and 24 to 64 bytes in base64. Default: generated.',
  }),
  { type: `expected ${SECRET_FORM}`, isSecret: true },
)
const FILE_SECRET = { ...SECRET_FIELD, expected: SECRET_FORM }
const ROW = Type.Object(
  {
    id: Type.String({
      pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$',
      expected: 'at most 64 letters, digits, _ and -, the first a letter or digit',
    }),
    ...SUBSCRIPTION_FIELDS,
    secret: FILE_SECRET,
    oldSecret: Type.Optional(FILE_SECRET),
  },
  { additionalProperties: false },
)

/** Reads WEBHOOKS_FILE, and refuses invalid entries. Throws a SettingsError if the file is not a list. */
export function readWebhooksFile(file: string, sender: SafeSender) {
  let entries: ReturnType<typeof parseSettingsList>
  try {
    entries = parseSettingsList(readFileSync(file, 'utf8'))
  } catch (error) {
    throw wrong(file, (error as Error).message)
  }
  if (!entries || entries.length > MOST_SUBSCRIPTIONS)
    throw wrong(file, `expected a list of at most ${MOST_SUBSCRIPTIONS} subscriptions`)
  const subscriptions = new Map<string, GivenSubscription>()
  // With the id of the subscription that stays unchanged, if valid. Postgres rejects texts with NUL.
  const refused: { id: string | undefined; problem: string }[] = []
  for (const [i, { value: row, problem: ambiguity }] of entries.entries()) {
    const isRow = ambiguity === undefined && Value.Check(ROW, row)
    const problem = !isRow
      ? (ambiguity ?? schemaProblems(ROW, row, 'the entry'))
      : subscriptions.has(row.id)
        ? `an earlier subscription has the id ${row.id}`
        : problemOf(row, sender)
    if (isRow && problem === undefined) {
      const { id, url, finality = 'final', filter = {}, secret, oldSecret } = row
      const secrets = oldSecret === undefined ? [secret] : [secret, oldSecret]
      subscriptions.set(id, { id, url, finality, filter, secrets })
    } else {
      const { id } = (row ?? {}) as { id?: unknown }
      const isId = Value.Check(ROW.properties.id, id)
      refused.push({ id: isId ? id : undefined, problem: `[${i}]: ${problem}` })
    }
  }
  return { subscriptions: [...subscriptions.values()], refused }
}

/** Returns the problem of an address or a filter; undefined if both are valid. */
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
    return reasonOf(error as Error)
  }
}

/** Returns the problem of a filter from the error of `filterOfTexts`. */
export function reasonOf({ message, detail }: Error & { detail?: string }): string {
  return `filter: ${message}${detail === undefined ? '' : `: ${detail}`}`
}

function wrong(file: string, message: string): SettingsError {
  return new SettingsError(`WEBHOOKS_FILE ${file}: ${message}`)
}
