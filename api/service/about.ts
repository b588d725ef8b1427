import swagger from '@fastify/swagger'
import type { TSchema } from '@sinclair/typebox'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { version } from '../../package.json'
import { cut } from '../../src/cut'
import { checksumAddress } from '../../src/eas'
import { prefersHtml } from '../http/accept'
import { COMPUTE_COMPONENTS, type Attester, type ComputeParts } from '../compute'
import type { VerifyingContract } from '../contracts'
import { ERROR_PAGES, errorPageHtml, errorPageJson, errorSlug } from '../http/error-pages'
import { SERVICE_COMPONENTS, SERVICE_ROUTES } from './schemas'
import { SHARED_COMPONENTS } from '../http/openapi-components'
import { GRAPHQL_COMPONENTS } from '../graphql'
import { MCP_COMPONENTS } from '../mcp'
import { hasQuorum, QUORUM_COMPONENTS } from '../quorum'
import type { Pages } from '../web'
import { ANSWERS_COMPONENTS } from '../answers'
import { RECORDS_COMPONENTS } from '../records'
import { TILES_COMPONENTS } from '../tiles'
import { llmsText } from './llms'
import { manualRoutes, type ManualPage } from './manual'
import { manualPageRoutes } from './manual-pages'
import { referencePageRoutes } from './reference-pages'
import { documentOf, operationsOf, type Document } from './openapi-document'
import { withExamples } from './openapi-examples'
import { LOG_COMPONENTS, type SignatureLog } from '../log'
import { sendPage } from '../http/pages'
import { RecordsError } from '../http/problems'
import { documented } from '../http/validation'

export interface AboutParts extends ComputeParts {
  deploymentName: string
  /** Pages for browsers; undefined if they were not built. */
  pages?: Pages
  log?: SignatureLog | undefined
  /** Pages of the documentation, shown at /manual. */
  manual?: readonly ManualPage[]
}

const NAME = 'Geospatial Attestation Service'
const DESCRIPTION = 'Location attestations of several chains, and signed answers to questions about places'

/** Collects the schemas of all routes registered after this call into an OpenAPI 3.1 document. */
export async function describeRoutes(
  app: FastifyInstance,
  parts: Pick<AboutParts, 'publicBaseUrl' | 'deploymentName' | 'attesters' | 'log'>,
  isAdministered: boolean,
): Promise<void> {
  const { publicBaseUrl, deploymentName, log } = parts
  const quorum = hasQuorum(parts)
  // Rooms that check requests by their schemas set their own validator. JSON.stringify writes responses.
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => (answer) => JSON.stringify(answer))
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: NAME,
        version,
        summary: DESCRIPTION,
        description: [
          `A computed result carries an EIP-712 signature that the chain's EAS contract checks (\`attestByDelegation\`), so that contracts can act on it. Answers are geodesic, on the WGS84 ellipsoid; positions are [longitude, latitude].`,
          'No authentication is needed. Requests are limited per IP address; every response has the ' +
            'number of requests left. Where a deployment accepts requests signed by a wallet (headers ' +
            'X-Wallet-Address, X-Signature, X-Wallet-Timestamp, X-Wallet-Nonce, of smart accounts also ' +
            'X-Wallet-Chain: docs/reference/wallet.md), these have a limit of their own.',
          'The examples are responses of a local deployment.',
        ].join('\n\n'),
        license: { name: 'GPL-3.0-or-later', identifier: 'GPL-3.0-or-later' },
      },
      servers: [{ url: publicBaseUrl, description: deploymentName }],
      tags: tagsOf({ quorum, log: log !== undefined, admin: isAdministered }),
      components: {
        ...(isAdministered && {
          securitySchemes: {
            adminKey: { type: 'http', scheme: 'bearer', description: 'ADMIN_KEY of the deployment.' },
          },
        }),
        schemas: {
          ...SHARED_COMPONENTS,
          ...COMPUTE_COMPONENTS,
          ...(quorum && QUORUM_COMPONENTS),
          ...(log && LOG_COMPONENTS),
          ...RECORDS_COMPONENTS,
          ...ANSWERS_COMPONENTS,
          ...TILES_COMPONENTS,
          ...GRAPHQL_COMPONENTS,
          ...MCP_COMPONENTS,
          ...SERVICE_COMPONENTS,
        },
      },
    },
    convertConstToEnum: false,
    transform: ({ schema, url }) => ({
      schema: schema?.body ? { ...schema, body: documented(schema.body as TSchema) } : withNamedRest(schema),
      url: url.replace(/\*$/, `:${REST}`),
    }),
    stripBasePath: false,
    transformObject: (made) =>
      withExamples((made as { openapiObject: Pick<Document, 'paths'> }).openapiObject, publicBaseUrl),
  })
}

function tagsOf({ quorum, log, admin }: Record<'quorum' | 'log' | 'admin', boolean>) {
  const descriptions = {
    Compute:
      'Operations on geometries, whose results are signed attestations. Errors are problem details (RFC 7807).',
    ...(quorum && { Quorum: 'Signatures of this operator for answers that k of n sign.' }),
    ...(log && { Log: 'Transparency log of signatures.' }),
    Records: 'Attested locations, and answers that have landed.',
    GraphQL: "Records, answers and the event log by GraphQL query. Errors have GraphQL's form.",
    Agents: 'Operations and searches as tools (Model Context Protocol).',
    ...(admin && { Admin: 'Webhook subscriptions. Requires the admin key.' }),
    Service: 'Properties and health of this deployment.',
  }
  return Object.entries(descriptions).map(([name, description]) => ({ name, description }))
}

/** Name of the rest of a path that a route reads as `*`, for which OpenAPI has no notation. */
const REST = 'path'

function withNamedRest<S extends FastifySchema | undefined>(schema: S): S {
  const params = schema?.params as { properties?: Record<string, unknown> } | undefined
  const { '*': rest, ...others } = params?.properties ?? {}
  return rest ? { ...schema, params: { ...params, properties: { ...others, [REST]: rest } } } : schema
}

/** GET /, the pages that errors link to, and the documentation of the deployment. Not rate limited. */
export async function aboutRoutes(app: FastifyInstance, parts: AboutParts): Promise<void> {
  const { publicBaseUrl, pages } = parts
  manualRoutes(app, parts.manual ?? [])
  manualPageRoutes(app, parts.manual ?? [])
  app.get<{ Querystring: { format?: string } }>(
    '/',
    { schema: SERVICE_ROUTES.root },
    async ({ query, headers }, reply) => {
      if (!pages) return informationOf(app, parts)
      void reply.header('vary', 'accept')
      return query.format !== 'json' && prefersHtml(headers.accept)
        ? pages.send(reply)
        : informationOf(app, parts)
    },
  )
  app.get<{ Params: { slug: string } }>(
    '/errors/:slug',
    { schema: SERVICE_ROUTES.error },
    async (request, reply) => {
      const slug = errorSlug(request.params.slug)
      if (!slug)
        throw new RecordsError(
          'not-found',
          `Error page not found: '${cut(request.params.slug, 40)}'. Pages: ` +
            `${Object.keys(ERROR_PAGES).join(', ')}`,
        )
      void reply.headers({ vary: 'accept', 'x-content-type-options': 'nosniff' })
      return prefersHtml(request.headers.accept)
        ? sendPage(reply, errorPageHtml(slug, publicBaseUrl))
        : errorPageJson(slug, publicBaseUrl)
    },
  )
  descriptionRoutes(app, parts)
  referencePageRoutes(app)
}

/** Returns the body of GET /. */
async function informationOf(app: FastifyInstance, parts: AboutParts) {
  const { publicBaseUrl, deploymentName, attesters, defaultSchemas, defaultSubmission, log } = parts
  return {
    name: NAME,
    version,
    description: DESCRIPTION,
    deployment: deploymentName,
    endpoints: {
      compute: endpoints(app, 'Compute', publicBaseUrl),
      ...(hasQuorum(parts) && { quorum: endpoints(app, 'Quorum', publicBaseUrl) }),
      ...(log && { log: endpoints(app, 'Log', publicBaseUrl) }),
      records: endpoints(app, 'Records', publicBaseUrl),
      ogc: `GET ${publicBaseUrl}/ogc`,
      graphql: endpoints(app, 'GraphQL', publicBaseUrl),
      mcp: `POST ${publicBaseUrl}/mcp`,
      health: `GET ${publicBaseUrl}/health`,
      readiness: `GET ${publicBaseUrl}/ready`,
      metrics: `GET ${publicBaseUrl}/metrics`,
      errors: `GET ${publicBaseUrl}/errors/:slug`,
      openapi: `GET ${publicBaseUrl}/openapi.json`,
      documentation: `GET ${publicBaseUrl}/docs`,
      llms: `GET ${publicBaseUrl}/llms.txt`,
    },
    chains: await Promise.all(
      [...attesters.values()].map(async ({ attester }) => {
        const { direct, proxy } = attester
        const { id, slug, schemaRegistry } = attester.chain
        const [address, ...otherAttesters] = await attester.addresses()
        return {
          ...{ id, slug, eas: direct.address },
          schemaRegistry: checksumAddress(schemaRegistry),
          attester: address,
          ...(otherAttesters.length > 0 && { otherAttesters }),
          ...(await described(attester, direct)),
          proxy: proxy ? { address: proxy.address, ...(await described(attester, proxy)) } : null,
        }
      }),
    ),
    defaultSchemas: { numeric: defaultSchemas.number, boolean: defaultSchemas.boolean },
    defaultSubmission,
  }
}

/** Serves the OpenAPI document and llms.txt, once all routes are registered. */
function descriptionRoutes(app: FastifyInstance, parts: AboutParts): void {
  const serve = (path: string, schema: FastifySchema, type: string, make: (document: Document) => string) => {
    // A Buffer, so that it is compressed only once (http/compression.ts).
    let text: Buffer | undefined
    app.get(path, { schema }, async (_request, reply) =>
      reply.type(`${type}; charset=utf-8`).send((text ??= Buffer.from(make(documentOf(app))))),
    )
  }
  serve('/openapi.json', SERVICE_ROUTES.openapi, 'application/json', JSON.stringify)
  serve('/llms.txt', SERVICE_ROUTES.llms, 'text/plain', (document) =>
    llmsText(document, parts.attesters, parts.manual ?? []),
  )
}

/** Describes a contract: its ABI and domain, and whether answers can be signed for it, or why not. */
async function described(attester: Attester, contract: VerifyingContract) {
  const reason = (await contract.notReady()) ?? attester.signerNotReady()
  return {
    ready: reason === undefined,
    ...(reason !== undefined && { reason }),
    ...(await contract.interface()),
  }
}

/** Returns the routes of one part of the API from the document, which has them all. */
function endpoints(app: FastifyInstance, tag: string, publicBaseUrl: string): string[] {
  return operationsOf(documentOf(app))
    .filter(({ tags }) => tags.includes(tag))
    .map(({ method, path }) => `${method.toUpperCase()} ${publicBaseUrl}${path.replace(/\{(\w+)\}/g, ':$1')}`)
}
