import type { TUnsafe } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Html } from '../http/html'
import { type GivenQuery } from '../http/parameters'
import { type Freshness, isKnown } from '../http/freshness'
import { type Link, selfLinks } from './documents'
import { documentPage } from './pages'
import {
  COLLECTION,
  COLLECTION_PATH,
  DOCUMENT_QUERY,
  formatOf,
  MATRIX_SET,
  type Format,
  type Profile,
} from './parameters'
import { type Page, sendPage, type Trail } from '../http/pages'
import { RecordsError } from '../http/problems'

/** Document in both of its formats. */
export interface Answer {
  /** Media type of the JSON format. */
  type: string
  links: readonly Link[]
  json: () => string
  html: () => Page
}
type DocumentQuery = typeof DOCUMENT_QUERY.static

/** Document that changes only with the deployment. */
interface FixedDocument {
  path: string
  /** Media type of the JSON format. */
  type: string
  /** Title of its page, and the pages above it. */
  title: string
  trail: Trail
  /** Title of its links to itself. Default: This document. */
  linkTitle?: string
  /** @param links of the document to itself and its other format, unless it lists links itself */
  make: (links: Link[], format: Format) => { document: DocumentParts; body: () => Html }
}
type DocumentParts = object & { links?: readonly Link[] }

/** Registers the routes of /ogc: documents in both formats, with their ETags. */
export class OgcScope {
  constructor(
    private readonly app: FastifyInstance,
    readonly freshness: Freshness,
    /** Hash of the program's version and configuration, on which responses depend, too. */
    private readonly edition: string,
    private readonly root: string,
  ) {}

  /** Identifies one format and profile of a document at its address, for ETags. */
  variant(format: Format, profile: Profile = 'rfc7946'): string {
    return `${format}-${profile === 'rfc7946' ? '' : `${profile}-`}${this.edition}`
  }

  /** Registers GET and HEAD for a path; rejects any other method. */
  get<Query extends DocumentQuery, Params>(
    path: string,
    schema: { querystring: TUnsafe<Query>; params?: TUnsafe<Params> },
    handler: (
      request: FastifyRequest<{ Querystring: Query; Params: Params }>,
      reply: FastifyReply,
    ) => Promise<FastifyReply> | FastifyReply,
  ): void {
    const { app } = this
    app.get<{ Querystring: Query; Params: Params }>(path, { schema: { hide: true, ...schema } }, handler)
    app.route({
      method: ['POST', 'PUT', 'PATCH', 'DELETE'],
      url: path,
      schema: { hide: true },
      onRequest: onlyReading,
      handler: onlyReading,
    })
  }

  /** Registers a document that changes only with the deployment. */
  fixed({ path, type, title, trail, linkTitle = 'This document', make }: FixedDocument): void {
    const href = `${this.root}${path.replace(':collectionId', COLLECTION).replace(':tileMatrixSetId', MATRIX_SET)}`
    this.get(path, documentSchema(path), (request, reply) => {
      const format = formatOf(request.query, request.headers.accept)
      if (isKnown(request, reply, `W/"${this.variant(format)}"`)) return reply
      const own = selfLinks(href, type, linkTitle, format, request.query.given)
      const { document, body } = make(own, format)
      const links = document.links?.filter(({ templated }) => !templated) ?? own
      return send(reply, format, {
        type,
        links,
        json: () => JSON.stringify(document),
        html: () => documentPage(title, trail, [...links, ...linksOfParts(document)], body()),
      })
    })
  }

  /** Registers a document that changes with the records. `make` receives their ETag. */
  live(path: string, make: (format: Format, given: GivenQuery, etag: string) => Promise<Answer>): void {
    this.get(path, documentSchema(path), async (request, reply) => {
      const format = formatOf(request.query, request.headers.accept)
      if (await this.freshness.answers(request, reply, this.variant(format))) return reply
      return send(reply, format, await make(format, request.query.given, String(reply.getHeader('etag'))))
    })
  }
}

/** Links in the entries of a document's lists. */
function linksOfParts(document: object): readonly Link[] {
  return Object.values(document).flatMap((list) =>
    Array.isArray(list) ? (list as DocumentParts[]).flatMap(({ links }) => links ?? []) : [],
  )
}

function documentSchema(path: string) {
  return {
    querystring: DOCUMENT_QUERY,
    ...(path.includes('/:') && { params: COLLECTION_PATH }),
  }
}

/**
 * Maximum length of the address of a link in the header (RFC 8288). Node's client accepts 16 KiB of headers,
 * and up to four links repeat the query string, which may hold a filter.
 */
const MAX_LINK_LENGTH = 1_200

export function send(reply: FastifyReply, format: Format, { type, links, json, html }: Answer): FastifyReply {
  reply.header('x-content-type-options', 'nosniff').header(
    'link',
    links
      .filter(({ href }) => href.length <= MAX_LINK_LENGTH)
      .map(({ href, rel, type: linked }) => `<${href}>; rel="${rel}"; type="${linked}"`)
      .join(', '),
  )
  // Sent as bytes, because Fastify would add a charset to the type of a text, and quotes that GDAL does not
  // recognize.
  if (format === 'json') return reply.type(type).send(Buffer.from(json()))
  return sendPage(reply, html())
}

/** Rejects methods that would change data: the service is read-only over HTTP. */
async function onlyReading({ method }: FastifyRequest, reply: FastifyReply): Promise<void> {
  reply.header('allow', 'GET, HEAD')
  throw new RecordsError('method-not-allowed', `Unsupported method ${method}. Use GET.`)
}
