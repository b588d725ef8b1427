import { readFileSync } from 'node:fs'
import { CHAINS, settingSuffix } from '../chains'
import { REMOVED, ROWS, type Setting, type Values } from './table'

/** Invalid or missing settings. The message names all of them and states what is expected. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}

type Environment = Readonly<Record<string, string | undefined>>

const CHAIN = '<CHAIN>'
const ofChains = (name: string) => CHAINS.map((chain) => name.replace(CHAIN, settingSuffix(chain)))

/** Returns the names from which a setting is read, in order of precedence. */
function sourcesOf({ name, also, secret }: Setting): string[] {
  const names = also === undefined ? [name] : [name, also]
  return secret ? names.flatMap((each) => [each, `${each}_FILE`]) : names
}

/** Returns every name that is read from the environment, for all chains, and those of removed settings. */
export function settingNames(): string[] {
  const names = Object.values(ROWS).flatMap(sourcesOf)
  return [...names.flatMap((name) => (name.includes(CHAIN) ? ofChains(name) : name)), ...Object.keys(REMOVED)]
}

/**
 * Parses an environment by the table of settings. An empty value counts as not set, as in a copied
 * .env.example.
 * @param problems receives each invalid setting as `NAME: problem`
 */
export function parseSettings(environment: Environment, problems: string[]): Values {
  const values = Object.entries<Setting>(ROWS).map(([field, row]) => {
    if (!row.name.includes(CHAIN)) return [field, valueOf(row, environment, problems)]
    const ofEach = CHAINS.flatMap((chain) => {
      const name = row.name.replace(CHAIN, settingSuffix(chain))
      const value = valueOf({ ...row, name }, environment, problems)
      return value === undefined ? [] : [[chain.slug, value] as const]
    })
    return [field, new Map(ofEach)]
  })
  for (const [name, { now, refused }] of Object.entries(REMOVED))
    if (refused && environment[name]) problems.push(`${name}: no longer exists; ${now}`)
  return Object.fromEntries(values) as Values
}

/** Returns sentences about removed settings that are set but do not stop a process. */
export function removedSettings(environment: Environment): string[] {
  return Object.entries(REMOVED).flatMap(([name, { now, refused }]) =>
    environment[name] && !refused ? `${name} no longer exists and is ignored: ${now}.` : [],
  )
}

function valueOf(row: Setting, environment: Environment, problems: string[]): unknown {
  const given = sourcesOf(row).filter((name) => environment[name])
  const [source, other] = given
  if (source === undefined) return row.default
  // DB_URL is an exception, because a process sets it for Subsquid's packages in addition to the other name.
  if (other !== undefined && other !== 'DB_URL') {
    problems.push(`${given.join(' and ')}: both are set. Remove one of them.`)
    return row.default
  }
  const text = environment[source]!
  const isFile = source !== row.name && source !== row.also
  const read = (): unknown => {
    try {
      return row.type.parse(isFile ? secretIn(text) : text)
    } catch (error) {
      const file = isFile && !isLikeSecret(row, text) ? `${text}: ` : ''
      throw new SettingsError(`${source}: ${file}${(error as Error).message}`)
    }
  }
  if (isFile && row.secret === 'sealed') return read
  try {
    const value = read()
    return row.secret === 'sealed' ? () => value : value
  } catch (error) {
    problems.push((error as Error).message)
    return row.default
  }
}

/** True for a text that may be the secret itself instead of the path of its file. */
function isLikeSecret({ type }: Setting, text: string): boolean {
  if (/:\/\/|[\da-f]{32}|PRIVATE\+KEY/i.test(text)) return true
  if (/^\.{0,2}\//.test(text)) return false
  try {
    type.parse(text.trim())
    return true
  } catch {
    return false
  }
}

function secretIn(file: string): string {
  let secret: string
  try {
    secret = readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new Error(`cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  // A token would count an empty PIN as an incorrect one.
  if (secret === '') throw new Error('is empty')
  return secret
}
