import { readFileSync } from 'node:fs'
import type { Static } from '@sinclair/typebox'
import { CHAINS, addChains, chainNamed, settingSuffix, type Chain } from './chains'
import { parseSettingsFile, processEnvironment, schemaProblems } from './config'

/**
 * Reads CHAINS_FILE (docs/reference/settings.md, "Further chains"): adds its chains to the table, and
 * overrides values of known chains. Each program imports this before the modules that read the table. If the
 * file is invalid, the process exits with status 2, as for an invalid setting.
 */

/** Schemas of rows. TypeBox consists of 250 files, so it is loaded only if CHAINS_FILE is set. */
function schemas() {
  const { Type } = require('@sinclair/typebox') as typeof import('@sinclair/typebox') // oxlint-disable-line typescript/no-require-imports -- import() would be too late
  const address = Type.String({
    pattern: '^0x[0-9a-fA-F]{40}$',
    expected: 'an address: 0x and 40 hex digits',
  })
  const slug = Type.String({
    pattern: '^[a-z][a-z0-9]*(-[a-z0-9]+)*$',
    maxLength: 40,
    expected: 'a slug of at most 40 characters such as base-sepolia',
  })
  const link = Type.String({
    pattern: '^https?://[^ ]*[^/ ]$',
    expected: 'an http(s) URL without a slash at the end',
  })
  const closed = { additionalProperties: false }
  const values = {
    headPollMs: Type.Optional(Type.Integer({ minimum: 50, maximum: 600_000 })),
    minConfirmations: Type.Optional(Type.Integer({ minimum: 0, maximum: 100_000 })),
    quorum: Type.Optional(address),
    rpcPerSecond: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
    rpcBatchSize: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
    rpcTimeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: 600_000 })),
  }
  const added = Type.Object(
    {
      id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
      slug,
      aliases: Type.Optional(Type.Array(slug)),
      eas: address,
      schemaRegistry: address,
      domainVersions: Type.Array(Type.String({ minLength: 1, maxLength: 20 }), { minItems: 1 }),
      firstBlock: Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 }),
      finality: Type.Integer({ minimum: 1, maximum: 900 }),
      blockMs: Type.Integer({ minimum: 50, maximum: 600_000 }),
      ...values,
      explorer: Type.Optional(link),
      attestations: Type.Optional(link),
    },
    closed,
  )
  const changed = Type.Object({ slug: Type.String(), ...values }, closed)
  const list = (rows: readonly unknown[]) => Type.Tuple(rows.map((row) => (isChange(row) ? changed : added)))
  return { added, changed, list }
}
type Schemas = ReturnType<typeof schemas>
type Added = Static<Schemas['added']>
type Changed = Static<Schemas['changed']>

/** True for a row that overrides values of a known chain: it has that chain's slug, and no id. */
function isChange(row: unknown): row is Changed {
  const { slug, id } = (row ?? {}) as Partial<Added>
  return id === undefined && CHAINS.some((chain) => chain.slug === slug)
}

const MOST_ROWS = 100

/** Content of a CHAINS_FILE: chains to add, and values to override, by slug. */
export interface ChainRows {
  readonly added: readonly Chain[]
  readonly changed: readonly Changed[]
}

/** Parses the text of a file. Throws an Error that names each incorrect field and the expected value. */
export function readChains(text: string): ChainRows {
  const rows = parseSettingsFile(text)
  if (!Array.isArray(rows) || rows.length > MOST_ROWS)
    throw new Error(`expected a list of at most ${MOST_ROWS} chains`)
  const problems = schemaProblems(schemas().list(rows), rows)
  if (problems) throw new Error(`expected a list of chains; ${problems}`)
  const added = (rows as (Added | Changed)[]).flatMap((row) => (isChange(row) ? [] : chainOf(row as Added)))
  const all = [...CHAINS, ...added]
  for (const [what, values] of [
    ['id', all.map(({ id }) => id)],
    ['slug or alias', all.flatMap(({ slug, aliases }) => [slug, ...aliases])],
    ['name of settings', all.map(settingSuffix)],
  ] as const) {
    const twice = values.find((each, i) => (values as unknown[]).indexOf(each) !== i)
    if (twice !== undefined) throw new Error(`two chains have the ${what} ${twice}`)
  }
  return { added, changed: rows.filter(isChange) }
}

/** Returns fields that are derived from values of a row. */
const given = ({ headPollMs, quorum }: { headPollMs?: number; quorum?: string }) => ({
  ...(headPollMs !== undefined && { givenHeadPollMs: headPollMs }),
  ...(quorum !== undefined && { quorum: quorum.toLowerCase() }),
})

function chainOf({ eas, schemaRegistry, blockMs, ...row }: Added): Chain {
  return {
    aliases: [],
    active: true,
    headPollMs: Math.max(blockMs, 2_000),
    explorer: '',
    attestations: '',
    ...row,
    ...given(row),
    blockMs,
    eas: eas.toLowerCase(),
    schemaRegistry: schemaRegistry.toLowerCase(),
  }
}

const { CHAINS_FILE } = processEnvironment()
if (CHAINS_FILE)
  try {
    const { added, changed } = readChains(readFileSync(CHAINS_FILE, 'utf8'))
    addChains(added)
    for (const { slug, ...values } of changed) Object.assign(chainNamed(slug)!, values, given(values))
  } catch (error) {
    process.stderr.write(`CHAINS_FILE ${CHAINS_FILE}: ${(error as Error).message}\n`)
    process.exit(2)
  }
