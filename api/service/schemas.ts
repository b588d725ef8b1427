import { Type, type TSchema } from '@sinclair/typebox'
import type { FastifySchema } from 'fastify'
import { RETRY_AFTER, answer, recordsError } from '../http/openapi-components'
import { SUBMISSIONS } from '../../src/config'
import { COMPUTE_ERRORS, type ComputeErrorKind } from '../../src/errors'
import { CHAIN_READINESS } from '../store'
import { address, components, constant, named, oneOfTexts, orNull, ref, uid } from '../http/schema'

/** Schemas of the service's own routes. */

const text = (description: string) => Type.String({ description })
const texts = (item: string, description: string) => Type.Array(text(item), { description })
const ADDRESS = 'Method and address.'

const domain = (name: TSchema, contract: string) =>
  Type.Object(
    {
      name,
      version: text('The version that the contract signs as.'),
      chainId: Type.Integer({ description: 'The chain.' }),
      verifyingContract: address(contract),
    },
    { description: 'EIP-712 domain of the signatures; absent while they cannot be made.' },
  )

const Information = named(
  'Information',
  Type.Object(
    {
      name: text('Name of the service.'),
      version: text('Version of the program.'),
      description: text('What it is.'),
      deployment: text('Which deployment this is, as its operator calls it.'),
      endpoints: Type.Object(
        {
          compute: texts(ADDRESS, 'The Compute API.'),
          records: texts(ADDRESS, 'The Records API.'),
          ogc: text('Method and address of the OGC API for GIS software, which describes itself.'),
          graphql: texts(ADDRESS, 'Raw GraphQL; a browser gets GraphiQL.'),
          mcp: Type.Optional(text('The same as tools for agents; absent where it is off.')),
          health: text(ADDRESS),
          readiness: text(ADDRESS),
          metrics: text(ADDRESS),
          errors: text(ADDRESS),
          openapi: text(ADDRESS),
          documentation: text(ADDRESS),
          llms: text(ADDRESS),
        },
        { description: 'Every endpoint, with its method.' },
      ),
      chains: Type.Array(
        Type.Object(
          {
            id: Type.Integer({ description: 'Its ID: `chainId` of requests.' }),
            slug: text('Its name.'),
            eas: address('Its EAS contract.'),
            schemaRegistry: address('The contract that schemas are registered with.'),
            attester: address(
              'Who signs for it. A contract that relies on answers accepts this attester only.',
            ),
            otherAttesters: Type.Optional(
              Type.Array(address('An address.'), {
                description:
                  'While the key changes: the next one, which some answers are signed by already, or the last one, whose answers stay good.',
              }),
            ),
            ready: Type.Boolean({
              description: 'Whether it can be signed for now, as seen within the last minute.',
            }),
            reason: Type.Optional(text('Why not.')),
            abi: texts(
              'A function or error, as ethers and viem read it.',
              'What takes our signatures on this contract, and the errors that it refuses them with; empty while it cannot be signed for.',
            ),
            domain: Type.Optional(domain(constant('EAS', 'Its name.'), 'The EAS contract.')),
            proxy: orNull(
              Type.Object(
                {
                  address: address('The contract. EAS shows it as the attester of what lands through it.'),
                  ready: Type.Boolean({ description: 'Whether it takes our signatures now.' }),
                  reason: Type.Optional(text('Why not.')),
                  abi: texts('A function or error.', 'As of the chain.'),
                  domain: Type.Optional(domain(text('The name that it was deployed with.'), 'The proxy.')),
                },
                {
                  description:
                    "EAS's PermissionedEIP712Proxy, for answers with `submission` `proxy`; null where the chain has none.",
                },
              ),
            ),
          },
          { description: 'A chain of the Compute API.' },
        ),
        { description: 'The chains that can be computed for.' },
      ),
      defaultSchemas: Type.Object(
        {
          numeric: uid('Of distance, area and length.'),
          boolean: uid('Of contains, within and intersects.'),
        },
        { description: 'Schemas of requests that name none.' },
      ),
      defaultSubmission: oneOfTexts(
        SUBMISSIONS,
        'How answers land where the request does not say it; on a chain without a proxy `direct`.',
      ),
    },
    { description: 'Which deployment this is.' },
  ),
)

const DATABASE = oneOfTexts(['connected', 'disconnected'], 'Whether the database answers.')
const Health = named(
  'Health',
  Type.Object(
    {
      status: oneOfTexts(['healthy', 'unhealthy'], 'In a word.'),
      database: DATABASE,
      version: text('Version of the program.'),
    },
    { description: 'Whether the process and its database work.' },
  ),
)
const ChainState = Type.Object(
  {
    ...CHAIN_READINESS.properties,
    proxy: Type.Optional(
      Type.Object(
        {
          address: address('The contract.'),
          status: oneOfTexts(['ready', 'not ready'], 'Whether it takes our signatures.'),
          reason: Type.Optional(text('Why not.')),
        },
        {
          description:
            "The chain's EIP-712 proxy, as it was last seen. Records do not need it: it makes no chain not ready.",
        },
      ),
    ),
  },
  { description: 'How far the copy of this chain goes, and whether its proxy takes our signatures.' },
)
const Readiness = named(
  'Readiness',
  Type.Object(
    {
      status: oneOfTexts(['ready', 'not ready'], 'Whether every chain is followed closely enough.'),
      database: DATABASE,
      signer: Type.Optional(
        Type.Object(
          {
            status: oneOfTexts(['ready', 'not ready'], 'Whether it signs.'),
            reason: Type.Optional(text('Why not.')),
          },
          {
            description:
              'What signs, as it was last seen. Records do not need it: it does not make the service not ready.',
          },
        ),
      ),
      chains: Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        description: 'By slug.',
        additionalProperties: ChainState,
      }),
    },
    { description: 'How far the copy of each chain goes.' },
  ),
)
const ErrorPage = named(
  'ErrorPage',
  Type.Object(
    {
      type: Type.String({ description: "The error's `type`.", format: 'uri' }),
      title: text('Its `title`.'),
      status: Type.Integer({ description: 'Its HTTP status.' }),
      meaning: text('What it means.'),
      causes: texts('A cause.', 'What causes it.'),
      remedies: texts('A step.', 'What to do.'),
    },
    { description: 'What an error means and what to do.' },
  ),
)
export const SERVICE_COMPONENTS = components(Information, Health, Readiness, ErrorPage)

const route = <S extends FastifySchema>(
  operationId: string,
  summary: string,
  description: string,
  schema: S,
) => ({ operationId, tags: ['Service'], summary, description, ...schema })

export const SERVICE_ROUTES = {
  root: route(
    'getInformation',
    'Which deployment this is',
    'Its name and version, its endpoints, its chains with the attester address of each, and whether each can be signed for.',
    {
      querystring: Type.Object({
        format: Type.Optional(
          Type.Literal('json', { description: 'JSON for browsers too, which get a page otherwise.' }),
        ),
      }),
      response: {
        200: {
          description: 'The deployment.',
          content: {
            'application/json': { schema: ref(Information) },
            'text/html': {
              schema: { type: 'string', description: 'For a browser: the map of the records.' },
            },
          },
        },
      },
    },
  ),
  health: route(
    'getHealth',
    'Whether the service works',
    'For a load balancer: the process answers, and its database does.',
    {
      response: {
        200: answer(ref(Health), 'Healthy.'),
        503: answer(ref(Health), 'The database does not answer.'),
      },
    },
  ),
  ready: route(
    'getReadiness',
    'How far the copy of each chain goes',
    '200 when every chain is followed closely enough, with the figures of each.',
    {
      response: {
        200: answer(ref(Readiness), 'Ready.'),
        503: answer(ref(Readiness), 'A chain lags, or the database does not answer.', {
          headers: RETRY_AFTER,
        }),
      },
    },
  ),
  metrics: route(
    'getMetrics',
    'Figures for Prometheus',
    'The same figures, those of the audit, of requests, and of the process.',
    { response: { 200: answer({ type: 'string' }, 'Prometheus text format.', { type: 'text/plain' }) } },
  ),
  error: route(
    'getErrorPage',
    'What an error means and what to do',
    'Where the `type` of every error of the Compute API leads. HTML for a browser (`Accept: text/html`), else JSON.',
    {
      params: Type.Object({
        slug: oneOfTexts(Object.keys(COMPUTE_ERRORS) as ComputeErrorKind[], "The end of the error's `type`."),
      }),
      response: {
        200: {
          description: 'The page.',
          content: {
            'application/json': { schema: ref(ErrorPage) },
            'text/html': { schema: { type: 'string' } },
          },
        },
        404: recordsError('There is no such error.'),
      },
    },
  ),
  openapi: route('getOpenapi', 'This document', 'OpenAPI 3.1; `/docs` shows it as a page.', {
    response: { 200: answer({ type: 'object', additionalProperties: true }, 'The document.') },
  }),
  llms: route(
    'getLlms',
    'What language models need to know',
    'This deployment in a page of Markdown (llmstxt.org): what is asked and how, its chains, links to the rest.',
    { response: { 200: answer({ type: 'string' }, 'The page.', { type: 'text/plain' }) } },
  ),
}
