import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { version } from '../../package.json'
import { chainNamed } from '../../src/chains'
import type { Chain } from '../../src/chains'
import { parseUid } from '../../src/eas'
import type { ChainReader } from '../contracts'
import { recordText } from '../formats'
import { hasResponse } from '../http/freshness'
import { rootOf } from '../http/pages'
import { RecordsError, recordsErrorHandler } from '../http/problems'
import { busyWith } from '../http/semaphore'
import { Turns } from '../http/turns'
import { workOf } from '../http/work'
import type { Geometry } from '../pages'
import type { RecordResult, Store } from '../store'
import type { Pages } from '../web'
import { placeDocument } from './document'
import { previewOf } from './preview'

export interface PlacesParts {
  store: Store
  publicBaseUrl: string
  pages: Pages
  /** Readers of the chains that this deployment is connected to, by chain ID. */
  readers: ReadonlyMap<number, { reader: Pick<ChainReader, 'of'> }>
}

type PlaceRequest = FastifyRequest<{ Params: { chain: string; uid: string } }>

/** Limits for previews rendered at the same time. Each takes 50 to 400 ms of a core (MOST_POSITIONS). */
const RENDERING = { all: 2, each: { quick: 1, slow: 1 }, waiting: 100, waitingEach: 10, waitMs: 20_000 }
/** Limits for reads from a chain: a small part of an endpoint's calls, since computations need the others. */
const READING = { all: 8, each: { quick: 2, slow: 2 }, waiting: 100, waitingEach: 20, waitMs: 6_000 }
/** Cache lifetime of a preview in seconds. Only a revocation changes it. */
const PREVIEW_SECONDS = 3_600
const HIDDEN = { schema: { hide: true } }

/** Registers GET /r/:chain/:uid, its preview.png, and the route that reads the attestation from the chain. */
export function placesRoutes(parts: PlacesParts) {
  const { store, publicBaseUrl, pages, readers } = parts
  const rendering = new Turns(
    RENDERING,
    busyWith('Too many of your previews are queued. Retry later.', 'Too many previews are queued.'),
  )
  const reading = new Turns(
    READING,
    busyWith('Too many of your attestations are queued. Retry later.', 'Too many attestations are queued.'),
  )
  const find = (request: PlaceRequest, withGeometry: boolean): Promise<RecordResult | undefined> => {
    const { chain, uid } = placeIn(request)
    return store.of(workOf(request)).recordByUid(uid, chain.slug, { withGeometry })
  }

  return (app: FastifyInstance, _options: object, done: () => void): void => {
    app.setErrorHandler(recordsErrorHandler(publicBaseUrl))

    app.get('/:chain/:uid', HIDDEN, async (request: PlaceRequest, reply) => {
      const { chain, uid } = placeIn(request)
      if (request.params.chain !== chain.slug) {
        // The query string may contain further question marks.
        const [, query] = /(\?.*)?$/s.exec(request.url)!
        return reply.redirect(`${rootOf(request.url)}r/${chain.slug}/${uid}${query ?? ''}`, 308)
      }
      const row = await find(request, false)
      const root = rootOf(request.url)
      // Without a record, the page in the browser explains what to do: the record may not be indexed yet.
      return row
        ? pages.sendWith(reply, root, placeDocument(recordOf(row), `${publicBaseUrl}/r/${chain.slug}/${uid}`))
        : pages.sendWith(reply.status(404), root)
    })

    app.get('/:chain/:uid/preview.png', HIDDEN, async (request: PlaceRequest, reply) => {
      const row = await find(request, true)
      if (!row) throw unknown(request)
      const isRevoked = recordOf(row).revoked === true
      const content = JSON.stringify([version, isRevoked, row.geometry])
      const etag = `W/"${createHash('sha256').update(content).digest('base64url')}"`
      void reply.headers({ 'cache-control': `public, max-age=${PREVIEW_SECONDS}`, etag })
      if (hasResponse(request, etag)) return reply.status(304).send()
      const png = await rendering.take(workOf(request), () =>
        previewOf(JSON.parse(row.geometry!) as Geometry | null, isRevoked),
      )
      return reply.header('x-content-type-options', 'nosniff').type('image/png').send(png)
    })

    app.get('/:chain/:uid/attestation', HIDDEN, async (request: PlaceRequest, reply) => {
      const { chain, uid } = placeIn(request)
      const served = readers.get(chain.id)
      if (!served) throw new RecordsError('not-found', `No RPC endpoint of ${chain.slug} is connected`)
      const work = workOf(request)
      const attestation = await reading.take(work, () => served.reader.of(work).attestation(uid))
      void reply.header('cache-control', 'no-store').type('application/json; charset=utf-8')
      return JSON.stringify({ chain: chain.slug, attestation: attestation ?? null }, (_, value: unknown) =>
        typeof value === 'bigint' ? integerOf(value) : value,
      )
    })
    done()
  }
}

/** A number or, if a number cannot represent it, a decimal string: `expirationTime` may be 2^64 - 1. */
const integerOf = (value: bigint) => (value <= Number.MAX_SAFE_INTEGER ? Number(value) : String(value))

function recordOf(row: RecordResult): Record<string, unknown> {
  return JSON.parse(recordText(row)) as Record<string, unknown>
}

/** Reads the chain and the UID from the path. Throws a RecordsError for values that no record can have. */
function placeIn(request: PlaceRequest): { chain: Chain; uid: string } {
  const chain = chainNamed(request.params.chain)
  const uid = parseUid(request.params.uid)
  if (!chain || uid === undefined) throw unknown(request)
  return { chain, uid }
}

const unknown = ({ params: { chain, uid } }: PlaceRequest) =>
  new RecordsError(
    'record-not-found',
    `No attestation with UID ${uid.slice(0, 80)} found on ${chain.slice(0, 40)}`,
  )
