import type { TUnsafe } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type GivenQuery } from '../http/parameters'
import { type Freshness, isKnown } from '../http/freshness'
import type { Link } from './documents'
import { COLLECTION_PATH, DOCUMENT_QUERY, formatOf, type Format } from './parameters'
import { type Page, sendPage } from '../http/pages'
import { RecordsError } from '../http/problems'

/** A document in both of its forms. */
export interface Answer {
  /** Of the JSON form. */
  type: string
  links: readonly Link[]
  json: () => string
  html: () => Page
}
type DocumentQuery = typeof DOCUMENT_QUERY.static

/** The routes of /ogc: documents in both forms, with their ETags. */
export class OgcScope {
  constructor(
    private readonly app: FastifyInstance,
    readonly freshness: Freshness,
    /** Part of every ETag: an answer depends on it too, not on the records alone. */
    private readonly edition: string,
  ) {}

  /** Names a form of a document among those of its address. */
  variant(format: Format): string {
    return `${format}-${this.edition}`
  }

  /** GET and HEAD of an address; any other method is refused. */
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

  /** A document that changes with the deployment only. */
  fixed(
    path: string,
    type: string,
    make: (
      format: Format,
      given: GivenQuery,
    ) => { document: object; links: readonly Link[]; html: () => Page },
  ): void {
    this.get(path, documentSchema(path), (request, reply) => {
      const format = formatOf(request.query, request.headers.accept)
      if (isKnown(request, reply, `W/"${this.variant(format)}"`)) return reply
      const { document, links, html } = make(format, request.query.given)
      return send(reply, format, { type, links, json: () => JSON.stringify(document), html })
    })
  }

  /** A document that changes with the records; it is given their ETag. */
  live(path: string, make: (format: Format, given: GivenQuery, etag: string) => Promise<Answer>): void {
    this.get(path, documentSchema(path), async (request, reply) => {
      const format = formatOf(request.query, request.headers.accept)
      if (await this.freshness.answers(request, reply, this.variant(format))) return reply
      return send(reply, format, await make(format, request.query.given, String(reply.getHeader('etag'))))
    })
  }
}

/** What a document can be asked; in a path with a collection or a tile matrix set, that it is ours. */
function documentSchema(path: string) {
  return {
    querystring: DOCUMENT_QUERY,
    ...(path.includes('/:') && { params: COLLECTION_PATH }),
  }
}

/** Sends a document in the form that was asked for. */
export function send(reply: FastifyReply, format: Format, { type, links, json, html }: Answer): FastifyReply {
  reply
    .header('x-content-type-options', 'nosniff')
    .header(
      'link',
      links.map(({ href, rel, type: linked }) => `<${href}>; rel="${rel}"; type="${linked}"`).join(', '),
    )
  // As bytes: Fastify adds a charset to the type of a text, and quotes that GDAL does not recognise.
  if (format === 'json') return reply.type(type).send(Buffer.from(json()))
  return sendPage(reply, html())
}

/** The service changes nothing by HTTP. */
async function onlyReading({ method }: FastifyRequest, reply: FastifyReply): Promise<void> {
  reply.header('allow', 'GET, HEAD')
  throw new RecordsError('method-not-allowed', `${method} is not possible here; use GET`)
}
