import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { tilePath } from '../../src/tlog'
import { acceptsCoding } from '../http/compression'
import { readingScope } from '../http/parameters'
import { RecordsError } from '../http/problems'
import { workOf } from '../http/work'
import type { Store } from '../store'
import type { SignatureLog } from './log'
import { LOG_ROUTES } from './schemas'
import type { LogStore } from './store'

const decompress = promisify(gunzip)
const TEXT = 'text/plain; charset=utf-8'
/** Tiles of the published tree never change, including partial ones. */
const FOREVER = 'public, max-age=31536000, immutable'
/** Retry-After of a missing proof, in seconds. A new entry usually has a proof after that time. */
const SOON_SECONDS = 1

/** Registers the routes of the log (docs/reference/log.md), mounted at /log/v0. */
export async function logRoutes(
  scope: FastifyInstance,
  { log, store, publicBaseUrl }: { log: SignatureLog; store: Store; publicBaseUrl: string },
): Promise<void> {
  const app = readingScope(scope, publicBaseUrl)
  const storeFor = (request: FastifyRequest) => log.store.of(store.of(workOf(request)))

  app.get('/', { schema: LOG_ROUTES.information }, async (_request, reply) => {
    const state = await log.state()
    const reason = log.notReady(state)
    void reply.header('cache-control', 'no-cache')
    return {
      ...{ origin: state.origin, ...(await log.verifier(state)), size: state.publishedSize },
      open: reason === undefined,
      ...(reason !== undefined && { reason }),
    }
  })

  app.get('/checkpoint', { schema: LOG_ROUTES.checkpoint }, async (_request, reply) => {
    const { published } = await log.state()
    return reply.header('cache-control', 'no-cache').type(TEXT).send(published)
  })

  app.get('/proof/:leaf', { schema: LOG_ROUTES.proof }, async (request, reply) => {
    const proof = await log.proof(request.params.leaf, storeFor(request)).catch((error: unknown) => {
      if (error instanceof RecordsError && error.retryable) void reply.header('retry-after', SOON_SECONDS)
      throw error
    })
    return reply.header('cache-control', 'no-cache').type(TEXT).send(proof)
  })

  app.get('/tile/*', { schema: LOG_ROUTES.tile }, async (request, reply) => {
    const tile = request.params['*']
    const found =
      (await log.has(tile)) &&
      (await contentOf(storeFor(request), tile, acceptsCoding(request.headers['accept-encoding'], 'gzip')))
    if (!found)
      throw new RecordsError(
        'not-found',
        `The published tree has no ${tilePath(tile)}. GET /log/v0/checkpoint returns its size`,
      )
    void reply.headers({ 'cache-control': FOREVER, vary: 'accept-encoding', ...found.headers })
    return reply.type('application/octet-stream').send(found.bytes)
  })
}

type Tile = Parameters<SignatureLog['has']>[0]

async function contentOf(store: LogStore, tile: Tile, gzip: boolean) {
  if (tile.level !== 'entries') return { bytes: Buffer.from((await store.tiles([tile]))[0]!), headers: {} }
  const bundle = await store.bundle(tile)
  if (!bundle) return undefined
  if ('bytes' in bundle) return { bytes: Buffer.from(bundle.bytes), headers: {} }
  return gzip
    ? { bytes: bundle.compressed, headers: { 'content-encoding': 'gzip' } }
    : { bytes: await decompress(bundle.compressed), headers: {} }
}
