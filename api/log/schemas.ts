import { Type, type Static } from '@sinclair/typebox'
import type { FastifySchema } from 'fastify'
import { cut } from '../../src/cut'
import { fromHex, parseTilePath } from '../../src/tlog'
import { answer, RATE_HEADERS, RECORDS_ERRORS, recordsErrors } from '../http/openapi-components'
import { invalid, parameter, pathOf } from '../http/parameters'
import { components, namedObject, ref } from '../http/schema'

const LogInformation = namedObject('LogInformation', 'The transparency log of this deployment.', {
  origin: Type.String({ description: 'Identity of the log: first line of its checkpoints.' }),
  key: Type.String({ description: 'Verifier key of its signatures (C2SP signed-note).' }),
  policy: Type.String({
    description: 'Its witnesses, their https URLs and their quorum (C2SP tlog-policy). Pin it.',
  }),
  size: Type.Integer({ description: 'Entries in the tree of the published checkpoint.' }),
  open: Type.Boolean({ description: 'True if entries are accepted. Otherwise nothing is signed.' }),
  reason: Type.Optional(Type.String({ description: 'Reason if not.' })),
})
export const LogClaim = namedObject(
  'LogClaim',
  'Promise of the transparency log. Absent if the deployment has no log.',
  {
    origin: Type.String({ description: 'Identity of the log.' }),
    leaf: Type.String({
      description: 'Leaf hash of the entry of this answer, in hex: `GET /log/v0/proof/<leaf>` proves it.',
      pattern: '^[0-9a-f]{64}$',
    }),
    by: Type.Integer({ description: 'Unix seconds by which the log includes the entry.' }),
  },
)
export type LogClaim = Static<typeof LogClaim>

export const LOG_COMPONENTS = components(LogInformation)

const LEAF = parameter(
  { type: 'string', description: '`log.leaf` of an answer: 32 bytes in hex.', pattern: '^[0-9a-f]{64}$' },
  (text) => {
    if (!/^[0-9a-f]{64}$/.test(text))
      throw invalid(
        'leaf',
        `expected 32 bytes in lower-case hex, such as log.leaf of an answer, got '${cut(text, 80)}'`,
      )
    return fromHex('leaf', text)
  },
)
const TILE = parameter(
  {
    type: 'string',
    description:
      'Level (0 to 63, or `entries`) and index, in groups of three digits, and `.p/` and the width of a partial tile: `0/x001/067`, `entries/000.p/17`.',
  },
  (text) => {
    const tile = parseTilePath(`tile/${text}`)
    if (!tile)
      throw invalid(
        'tile',
        `expected a path of C2SP tlog-tiles, such as 0/000, entries/x001/067 or 0/000.p/17, got '${cut(text, 80)}'`,
      )
    return tile
  },
)

/** Errors of routes without parameters. */
const { 400: _, ...ERRORS } = RECORDS_ERRORS as Record<number, object>
const FOREVER = { 'cache-control': { type: 'string', description: 'A tile never changes.' } }
const NO_LOG_ENTRY = recordsErrors({
  'invalid-parameter': 'The path is malformed.',
  'not-found': 'The log has no such entry or tile.',
})
const NOT_PUBLISHED = recordsErrors({
  'not-published': 'No published checkpoint includes the entry yet, or the database is unreachable.',
})
const route = <S extends FastifySchema>(
  operationId: string,
  summary: string,
  description: string,
  schema: S,
) => ({
  ...{ operationId, tags: ['Log'], summary, description },
  ...schema,
})

export const LOG_ROUTES = {
  information: route(
    'getLog',
    'Describes the transparency log',
    'Returns origin and key of the log, which readers pin, and its size.',
    { response: { 200: answer(ref(LogInformation), 'The log.', { headers: RATE_HEADERS }), ...ERRORS } },
  ),
  checkpoint: route(
    'getCheckpoint',
    'Last published checkpoint',
    'A signed note (C2SP tlog-checkpoint) with origin, size and root of the tree, signed by the log and cosigned by witnesses.',
    {
      response: {
        200: answer({ type: 'string' }, 'The checkpoint.', { type: 'text/plain', headers: RATE_HEADERS }),
        ...ERRORS,
      },
    },
  ),
  tile: route(
    'getTileOfLog',
    'Hashes or entries of the tree',
    'Tiles of 256 hashes of 32 bytes, or bundles of 256 entries, each with its length in 2 bytes before it (C2SP tlog-tiles).',
    {
      params: pathOf({ '*': TILE }),
      response: {
        200: answer({ type: 'string', description: 'Binary.' }, 'The tile.', {
          type: 'application/octet-stream',
          headers: { ...RATE_HEADERS, ...FOREVER },
        }),
        ...RECORDS_ERRORS,
        ...NO_LOG_ENTRY,
      },
    },
  ),
  proof: route(
    'getLogProof',
    'Proof that an answer is in the log',
    'An inclusion proof with the published checkpoint (C2SP tlog-proof). Returns 503 with `Retry-After` until a published checkpoint includes the entry.',
    {
      params: pathOf({ leaf: LEAF }),
      response: {
        200: answer({ type: 'string' }, 'The proof.', { type: 'text/plain', headers: RATE_HEADERS }),
        ...RECORDS_ERRORS,
        ...NO_LOG_ENTRY,
        ...NOT_PUBLISHED,
      },
    },
  ),
}
