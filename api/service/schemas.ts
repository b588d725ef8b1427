import { Type, type TSchema } from '@sinclair/typebox'
import type { FastifySchema } from 'fastify'
import { RETRY_AFTER, answer, recordsError } from '../http/openapi-components'
import { SUBMISSIONS } from '../../src/config'
import { COMPUTE_ERRORS, type ComputeErrorKind } from '../../src/errors'
import { CHAIN_READINESS } from '../store'
import {
  address,
  components,
  constant,
  namedObject,
  objectOf,
  oneOfTexts,
  orNull,
  ref,
  uid,
} from '../http/schema'

const text = (description: string) => Type.String({ description })
const texts = (item: string, description: string) => Type.Array(text(item), { description })
const ADDRESS = 'Method and address.'

/** EIP-712 parts of the signatures that a contract accepts. */
const typedData = (name: TSchema, contract: string) => ({
  domain: Type.Optional(
    objectOf('EIP-712 domain of the signatures; absent while signing is unavailable.', {
      name,
      version: text('Version in the domain of the contract.'),
      chainId: Type.Integer({ description: 'The chain.' }),
      verifyingContract: address(contract),
    }),
  ),
  primaryType: Type.Optional(
    constant('Attest', 'EIP-712 primary type of the signatures; absent like `domain`.'),
  ),
  types: Type.Optional(
    objectOf('EIP-712 types of the signatures, in the layout of the contract; absent like `domain`.', {
      Attest: Type.Array(
        objectOf('A field.', { name: text('Its name.'), type: text('Its Solidity type.') }),
        { description: 'Fields in the order of the type.' },
      ),
    }),
  ),
})

const Information = namedObject('Information', 'Name of the deployment.', {
  name: text('Name of the service.'),
  version: text('Version of the program.'),
  description: text('Description of the service.'),
  deployment: text('Name of this deployment, chosen by its operator.'),
  endpoints: objectOf('Every endpoint, with its method.', {
    compute: texts(ADDRESS, 'The Compute API.'),
    quorum: Type.Optional(
      texts(ADDRESS, 'Signatures for answers of quorums; absent if no chain has a quorum.'),
    ),
    log: Type.Optional(texts(ADDRESS, 'The transparency log; absent if it is off.')),
    records: texts(ADDRESS, 'The Records API.'),
    ogc: text('Method and address of the OGC API for GIS software, which describes itself.'),
    graphql: texts(ADDRESS, 'Raw GraphQL; a browser gets GraphiQL.'),
    mcp: text('Tools for agents.'),
    health: text(ADDRESS),
    readiness: text(ADDRESS),
    metrics: text(ADDRESS),
    errors: text(ADDRESS),
    openapi: text(ADDRESS),
    documentation: text(ADDRESS),
    llms: text(ADDRESS),
  }),
  chains: Type.Array(
    objectOf('A chain of the Compute API.', {
      id: Type.Integer({ description: 'Its ID: `chainId` of requests.' }),
      slug: text('Its name.'),
      eas: address('Its EAS contract.'),
      schemaRegistry: address('The schema registry.'),
      attester: address(
        'Address that signs answers for it. A contract that relies on answers accepts this attester only.',
      ),
      otherAttesters: Type.Optional(
        Type.Array(address('An address.'), {
          description:
            'Other address during a key change: the next one, which already signs some answers, or the ' +
            'previous one, whose answers remain valid.',
        }),
      ),
      ready: Type.Boolean({
        description: 'True if answers for it could be signed at the last check, within the last minute.',
      }),
      reason: Type.Optional(text('Reason if not.')),
      abi: texts(
        'A function or error, as ethers and viem read it.',
        'Functions of this contract that accept the signatures, and the errors that they revert ' +
          'with; empty while signing is unavailable.',
      ),
      ...typedData(constant('EAS', 'Its name.'), 'The EAS contract.'),
      proxy: orNull(
        objectOf(
          "EAS's PermissionedEIP712Proxy, for answers with `submission` `proxy`; null where the chain has none.",
          {
            address: address('The contract. EAS shows it as the attester of answers that land through it.'),
            ready: Type.Boolean({ description: 'True if it accepts the signatures of this service.' }),
            reason: Type.Optional(text('Reason if not.')),
            abi: texts('A function or error.', 'ABI, like that of the chain.'),
            ...typedData(text('Name that it was deployed with.'), 'The proxy.'),
          },
        ),
      ),
    }),
    { description: 'Chains of the Compute API.' },
  ),
  defaultSchemas: objectOf('Default schemas of requests.', {
    numeric: uid('Schema of distance, area and length.'),
    boolean: uid('Schema of contains, within and intersects.'),
  }),
  defaultSubmission: oneOfTexts(
    SUBMISSIONS,
    'How answers land by default; `direct` on a chain without a proxy.',
  ),
})

const DATABASE = oneOfTexts(['connected', 'disconnected'], 'True if the database responds.')
const Health = namedObject('Health', 'State of the process and its database.', {
  status: oneOfTexts(['healthy', 'unhealthy'], 'In a word.'),
  database: DATABASE,
  version: text('Version of the program.'),
})
const state = (description: string) => ({
  status: oneOfTexts(['ready', 'not ready'], description),
  reason: Type.Optional(text('Reason if not.')),
})
const ChainState = objectOf('Index state of this chain, and state of its proxy.', {
  ...CHAIN_READINESS.properties,
  proxy: Type.Optional(
    objectOf(
      "State of the chain's EIP-712 proxy at the last check. Records do not need it, so it does " +
        'not affect `ready`.',
      { address: address('The contract.'), ...state('True if it accepts the signatures of this service.') },
    ),
  ),
})
const partState = (description: string) => Type.Optional(objectOf(description, state('State of this part.')))
const Readiness = namedObject('Readiness', 'Index state of each chain.', {
  status: oneOfTexts(['ready', 'not ready'], 'State of the indexes of all chains, and of the log.'),
  database: DATABASE,
  signer: partState(
    'State of the signer at the last check. Records do not need it, so it does not affect `ready`.',
  ),
  log: partState(
    'State of the transparency log; absent if it is off. While it accepts no entries, nothing is signed.',
  ),
  chains: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    description: 'By slug.',
    additionalProperties: ChainState,
  }),
})
const ErrorPage = namedObject('ErrorPage', 'Meaning and remedies of an error.', {
  type: Type.String({ description: "The error's `type`.", format: 'uri' }),
  title: text('Its `title`.'),
  status: Type.Integer({ description: 'Its HTTP status.' }),
  meaning: text('Meaning.'),
  causes: texts('A cause.', 'Causes.'),
  remedies: texts('A step.', 'Remedies.'),
})
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
    'Describes this deployment',
    'Returns name and version, endpoints, and the chains with the attester address of each and ' +
      'its ability to sign.',
    {
      querystring: Type.Object({
        format: Type.Optional(
          Type.Literal('json', { description: 'Returns JSON to browsers, which get a page by default.' }),
        ),
      }),
      response: {
        200: {
          description: 'The deployment.',
          content: {
            'application/json': { schema: ref(Information) },
            'text/html': {
              schema: { type: 'string', description: 'Map of the records, for browsers.' },
            },
          },
        },
      },
    },
  ),
  health: route(
    'getHealth',
    'Reports if the service works',
    'For load balancers: 200 if the process and its database respond.',
    {
      response: {
        200: answer(ref(Health), 'Healthy.'),
        503: answer(ref(Health), 'The database does not respond.'),
      },
    },
  ),
  ready: route(
    'getReadiness',
    'Reports the index state of each chain',
    'Returns 200 if the index of every chain is recent enough and the transparency log accepts entries, with the figures of each chain.',
    {
      response: {
        200: answer(ref(Readiness), 'Ready.'),
        503: answer(
          ref(Readiness),
          'A chain lags, the transparency log is stopped, or the database does not respond.',
          { headers: RETRY_AFTER },
        ),
      },
    },
  ),
  metrics: route(
    'getMetrics',
    'Metrics for Prometheus',
    'Metrics of the indexes, the audit, requests and the process.',
    { response: { 200: answer({ type: 'string' }, 'Prometheus text format.', { type: 'text/plain' }) } },
  ),
  error: route(
    'getErrorPage',
    'Explains an error',
    'Page to which the `type` of each error of the Compute API links. HTML for a browser (`Accept: text/html`), else JSON.',
    {
      params: Type.Object({
        slug: oneOfTexts(
          Object.keys(COMPUTE_ERRORS) as ComputeErrorKind[],
          "Last segment of the error's `type`.",
        ),
      }),
      response: {
        200: {
          description: 'The page.',
          content: {
            'application/json': { schema: ref(ErrorPage) },
            'text/html': { schema: { type: 'string' } },
          },
        },
        404: recordsError('No such error.'),
      },
    },
  ),
  openapi: route('getOpenapi', 'OpenAPI document', 'OpenAPI 3.1; `/docs` shows it as a page.', {
    response: { 200: answer({ type: 'object', additionalProperties: true }, 'The document.') },
  }),
  llms: route(
    'getLlms',
    'Describes this deployment for language models',
    'Returns a Markdown page (llmstxt.org) with the operations, the chains, and links to the rest.',
    { response: { 200: answer({ type: 'string' }, 'The page.', { type: 'text/plain' }) } },
  ),
}
