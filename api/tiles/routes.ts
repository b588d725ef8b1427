import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { acceptsCoding } from '../http/compression'
import { Semaphore, busyWith } from '../http/semaphore'
import { workOf } from '../http/work'
import { choiceOf, type RecordSearch } from '../query'
import { isKnown } from '../http/freshness'
import type { Store } from '../store'
import { TILE_TYPE, tileJson } from './documents'
import { tilesSchemas } from './openapi'
import { tileOf } from './grid'
import { Tiles } from './tiles'
import { readingScope } from '../http/parameters'

const decompress = promisify(gunzip)
/** Lists use the other connections. A map requests thirty tiles at a time, and users may share an address. */
const MAKING = { all: 6, each: 3, waiting: 400, waitingEach: 200, waitMs: 20_000 }

/** Routes below /tiles (docs/reference/tiles.md). */
export async function tilesRoutes(
  scope: FastifyInstance,
  parts: {
    store: Store
    records: RecordSearch
    publicBaseUrl: string
    tileCacheBytes: number
  },
): Promise<void> {
  const { publicBaseUrl, tileCacheBytes: cacheBytes } = parts
  const app = readingScope(scope, publicBaseUrl)
  const tiles = new Tiles({ ...parts, cacheBytes })
  const semaphore = new Semaphore(
    MAKING,
    busyWith(
      'Too many of your tile requests are queued. Retry after they have finished.',
      'Too many tile requests are queued.',
    ),
  )

  app.get('/location-records.json', { schema: tilesSchemas.tileJson }, (request, reply) => {
    choiceOf(request.query)
    void reply.header('cache-control', 'public, max-age=60')
    return tileJson(publicBaseUrl, request.query.given)
  })

  app.get('/location-records/:z/:x/:y.mvt', { schema: tilesSchemas.tile }, async (request, reply) => {
    const work = workOf(request)
    const { etag, compressed } = await tiles.get(
      tileOf(request.params),
      choiceOf(request.query),
      work,
      (make) => semaphore.run(work, make),
    )
    if (isKnown(request, reply, etag, 'accept-encoding')) return reply
    void reply.type(TILE_TYPE)
    if (compressed.length === 0) return reply.send(compressed)
    if (!acceptsCoding(request.headers['accept-encoding'], 'gzip'))
      return reply.send(await decompress(compressed))
    return reply.header('content-encoding', 'gzip').send(compressed)
  })
}
