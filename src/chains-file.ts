import { readFileSync } from 'node:fs'
import type { Static } from '@sinclair/typebox'
import { CHAINS, addChains, settingSuffix, type Chain } from './chains'
import { parseSettingsFile, processEnvironment, schemaProblems } from './config'

/**
 * Adds the chains of CHAINS_FILE to the table (docs/reference/settings.md, "Further chains"). Each program
 * imports this before the modules that make something of the table. A wrong file ends the process with code
 * 2, as wrong settings do.
 */

/** A list of chains. Its packages are loaded where there is such a file alone: they are 250 files. */
function schemaOfRows() {
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
    expected: 'an http(s) URL without a slash at its end',
  })
  const row = Type.Object(
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
      headPollMs: Type.Optional(Type.Integer({ minimum: 50, maximum: 600_000 })),
      explorer: Type.Optional(link),
      attestations: Type.Optional(link),
    },
    { additionalProperties: false },
  )
  return Type.Array(row, { maxItems: 100 })
}
type Rows = Static<ReturnType<typeof schemaOfRows>>

/** The chains of a file's text. Throws an Error that names each place and says what would be right. */
export function readChains(text: string): Chain[] {
  const value = parseSettingsFile(text)
  const problems = schemaProblems(schemaOfRows(), value)
  if (problems) throw new Error(`expected a list of chains; ${problems}`)
  const chains = (value as Rows).map(chainOf)
  const all = [...CHAINS, ...chains]
  for (const [what, values] of [
    ['id', all.map(({ id }) => id)],
    ['slug or alias', all.flatMap(({ slug, aliases }) => [slug, ...aliases])],
    ['name of settings', all.map(settingSuffix)],
  ] as const) {
    const twice = values.find((each, i) => (values as unknown[]).indexOf(each) !== i)
    if (twice !== undefined) throw new Error(`two chains have the ${what} ${twice}`)
  }
  return chains
}

function chainOf({ eas, schemaRegistry, blockMs, ...row }: Rows[number]): Chain {
  return {
    aliases: [],
    active: true,
    headPollMs: Math.max(blockMs, 2_000),
    explorer: '',
    attestations: '',
    ...row,
    blockMs,
    eas: eas.toLowerCase(),
    schemaRegistry: schemaRegistry.toLowerCase(),
  }
}

const { CHAINS_FILE } = processEnvironment()
if (CHAINS_FILE)
  try {
    addChains(readChains(readFileSync(CHAINS_FILE, 'utf8')))
  } catch (error) {
    process.stderr.write(`CHAINS_FILE ${CHAINS_FILE}: ${(error as Error).message}\n`)
    process.exit(2)
  }
