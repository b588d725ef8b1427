import type { FastifyInstance } from 'fastify'
import { CHAINS } from '../../src/chains'
import { checksumAddress } from '../../src/eas'
import { sendPage } from '../http/pages'
import { RecordsError, itIsOn } from '../http/problems'
import { workOf, type Work } from '../http/work'
import { chooseFormat } from '../http/accept'
import {
  csvFile,
  groupsJson,
  ndjsonFile,
  provenanceText,
  sendGroups,
  withMark,
  type Exports,
} from '../formats'
import { cursorText, pageAddresses } from '../http/paging'
import { listAbove } from '../pages'
import { groupsRequest } from '../query'
import { ANSWER_DIMENSIONS, groups, RETRY, scanned, type Store } from '../store'
import type { Freshness } from '../http/freshness'
import {
  STATISTICS_QUERY,
  ANSWER_FIELDS,
  ANSWER_FORMATS,
  answerFilter,
  answersRequest,
  answersSchemas,
} from './openapi'
import { answerPage, answersPage, type LandedAnswer } from './pages'
import { answerConditions, answersQuery, type AnswerQuery, type AnswerResult } from './sql'
import { readingScope, readQuery, type TextQuery } from '../http/parameters'

/** Groups of a request that names none. */
const BY_OPERATION = [{ name: 'operation', dimension: ANSWER_DIMENSIONS.operation!, argument: 0 }]
/** Number of answers of an export that are read at once. */
const EXPORTED_AT_ONCE = 1_000
const FORMATS = {
  ndjson: ndjsonFile('answers', (rows: readonly AnswerResult[]) =>
    rows.map((row) => `${answerText(row)}\n`).join(''),
  ),
  csv: csvFile('answers', ANSWER_FIELDS, (rows: readonly AnswerResult[]) => rows.map(answerOf)),
}
/** Remedy for a statement that reads too many answers. */
const REMEDY = 'Narrow it by chain, attester, recipient, operation, input or a shorter time.'
const JSON_TYPE = 'application/json; charset=utf-8'

/** Routes of the answers that have landed (docs/reference/answers.md), mounted at /api/v0. */
export function answersRoutes(parts: {
  store: Store
  freshness: Freshness
  fileExports: Exports
  publicBaseUrl: string
}) {
  const { store, freshness, fileExports, publicBaseUrl } = parts
  const listAddress = `${publicBaseUrl}/api/v0/answers`
  const home = [{ href: `${publicBaseUrl}/docs`, title: 'API' }]
  return (scope: FastifyInstance, _options: object, done: () => void): void => {
    const app = readingScope(scope, publicBaseUrl)
    freshness.keepAnswersOf(app)

    app.get('/answers', { schema: answersSchemas.list }, async (request, reply) => {
      const { tag, limit, format, bom, ...query } = answersRequest(request.query, request.headers.accept)
      if (await freshness.answers(request, reply, format)) return reply
      const own = store.of(workOf(request))
      if (format !== 'json' && format !== 'html')
        return fileExports.send(
          request,
          reply,
          pagesOf(own, { ...query, limit }),
          bom ? withMark(FORMATS.csv) : FORMATS[format],
        )
      const rows = await own.run<AnswerResult>(answersQuery({ ...query, limit: limit + 1 }), true, REMEDY)
      const page = rows.slice(0, limit)
      const last = rows.length > limit ? page.at(-1) : undefined
      const next = last ? cursorText(positionOf(last), tag) : null
      if (format === 'html') {
        const { given } = request.query
        const paging = { limit, offset: 0, nextCursor: next, byCursor: query.from !== undefined }
        const addresses = pageAddresses(listAddress, given, paging)
        return sendPage(
          reply,
          answersPage({ answers: page.map(answerOf), query, limit, given, addresses }, listAddress, home),
        )
      }
      return reply
        .type(JSON_TYPE)
        .send(
          `{"data":[${page.map(answerText).join()}],"count":${page.length},"limit":${limit},"next_cursor":${JSON.stringify(next)}}`,
        )
    })

    app.get('/answers/stats', { schema: answersSchemas.stats }, async (request, reply) => {
      const { query, read } = groupsOf(store, request.query, request.headers.accept)
      if (await freshness.answers(request, reply, query.format)) return reply
      return sendGroups(reply, await read(workOf(request)), query, 'answers')
    })

    app.get('/answers/:uid', { schema: answersSchemas.byUid }, async (request, reply) => {
      const { uid } = request.params
      const { chain, given } = request.query
      const format = chooseFormat(request.query.format, request.headers.accept, ANSWER_FORMATS)
      const find = () => answerByUid(store.of(workOf(request)), uid, chain, given.chain)
      const row = await freshness.find(request, reply, find, format)
      if (!row) return reply
      if (format === 'html')
        return sendPage(
          reply,
          answerPage(answerOf(row), listAddress, [...home, ...listAbove(listAddress, 'Answers', given)]),
        )
      return reply.type(JSON_TYPE).send(answerText(row))
    })
    done()
  }
}

/** Returns the newest answer with this UID. @param given the chain as the client named it, for the error */
async function answerByUid(store: Store, uid: string, chain: string | undefined, given?: string) {
  const on = (slugs: readonly string[]) => {
    const ids = slugs.map((slug) => `${slug}-${uid.toLowerCase()}`)
    return store.run<AnswerResult>(answersQuery({ ids, limit: ids.length }), true, RETRY)
  }
  const all = CHAINS.map(({ slug }) => slug)
  const [found] = await on(chain === undefined ? all : [chain])
  if (found) return found
  const elsewhere = chain === undefined ? [] : (await on(all)).map((answer) => answer.chain)
  throw new RecordsError(
    'answer-not-found',
    `No answer of this service with UID ${uid} found${chain === undefined ? '' : ` on ${given}`}${itIsOn(elsewhere)}`,
  )
}

/** Groups of answers for other interfaces, with the parameters of the route. */
export function answerGroupsQuery(store: Store): TextQuery {
  return {
    description: 'Counts of answers by group.',
    parameters: STATISTICS_QUERY.properties,
    answer: async (texts, work) => {
      const { query, read } = groupsOf(store, readQuery(STATISTICS_QUERY, texts), undefined)
      return JSON.parse(groupsJson(await read(work), query)) as object
    },
  }
}

/** Reads a request for groups. Throws a RecordsError for parameters that exclude each other. */
function groupsOf(
  store: Store,
  { by = BY_OPERATION, top, sort, format, bom, ...filters }: typeof STATISTICS_QUERY.static,
  accept: string | undefined,
) {
  const query = groupsRequest({ by, top, sort, format, bom }, accept)
  const filter = answerFilter(filters)
  const read = (work: Work) =>
    groups(store.of(work), query, (value) => scanned('answer', answerConditions(filter, value)), REMEDY)
  return { query, read }
}

/** Yields the matching answers, at most `limit`, in pages that are read on demand. */
async function* pagesOf(store: Store, query: AnswerQuery): AsyncGenerator<AnswerResult[]> {
  for (let { from, limit } = query; limit > 0;) {
    const size = Math.min(limit, EXPORTED_AT_ONCE)
    const rows = await store.run<AnswerResult>(answersQuery({ ...query, from, limit: size }), true, REMEDY)
    if (rows.length) yield rows
    if (rows.length < size) return
    limit -= size
    from = positionOf(rows.at(-1)!)
  }
}

const positionOf = ({ timestamp, id }: AnswerResult) => ({ at: timestamp.getTime(), id })

/** Writes an answer as JSON, with the fields in the order of the documentation. */
function answerText(row: AnswerResult): string {
  const { uid, chain, attester, recipient, operation, result, units, value } = row
  const { input_refs, computed_at, timestamp, revoked } = row
  const fields = JSON.stringify({
    ...{ uid, chain, attester: checksumAddress(attester), recipient: checksumAddress(recipient) },
    ...{ operation, result, units, value, input_refs, computed_at, timestamp, revoked },
  })
  return `${fields.slice(0, -1)},${provenanceText(row)}}`
}

function answerOf(row: AnswerResult): LandedAnswer {
  return JSON.parse(answerText(row)) as LandedAnswer
}
