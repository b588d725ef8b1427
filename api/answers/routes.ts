import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { CHAINS } from '../../src/chains'
import { checksumAddress } from '../../src/eas'
import { RecordsError, recordsErrorHandler } from '../http/problems'
import { cursorText, provenanceText, readParameters, type Freshness, type Store } from '../records'
import { answersRequest, answersSchemas } from './openapi'
import { answersQuery, type AnswerResult } from './sql'

const JSON_TYPE = 'application/json; charset=utf-8'

/** The answers that have landed (docs/reference/answers.md), mounted at /api/v0. */
export function answersRoutes(parts: { store: Store; freshness: Freshness; publicBaseUrl: string }) {
  const { store, freshness, publicBaseUrl } = parts

  return (scope: FastifyInstance, _options: object, done: () => void): void => {
    const app = scope.withTypeProvider<TypeBoxTypeProvider>()
    app.setValidatorCompiler(readParameters)
    app.setErrorHandler(recordsErrorHandler(publicBaseUrl))
    freshness.keepAnswersOf(app)

    app.get('/answers', { schema: answersSchemas.list }, async (request, reply) => {
      const { tag, limit, ...query } = answersRequest(request.query)
      if (await freshness.answers(request, reply)) return reply
      const rows = await store.run<AnswerResult>(answersQuery({ ...query, limit: limit + 1 }), true)
      const page = rows.slice(0, limit)
      const last = rows.length > limit ? page.at(-1) : undefined
      const next = last ? cursorText({ at: last.timestamp.getTime(), id: last.id }, tag) : null
      return reply
        .type(JSON_TYPE)
        .send(
          `{"data":[${page.map(answerText).join()}],"count":${page.length},"limit":${limit},"next_cursor":${JSON.stringify(next)}}`,
        )
    })

    app.get('/answers/:uid', { schema: answersSchemas.byUid }, async (request, reply) => {
      const { uid } = request.params
      const { chain, given } = request.query
      const row = await freshness.find(request, reply, async () => {
        const slugs = chain === undefined ? CHAINS.map(({ slug }) => slug) : [chain]
        const ids = slugs.map((slug) => `${slug}-${uid.toLowerCase()}`)
        const [found] = await store.run<AnswerResult>(answersQuery({ ids, limit: 1 }))
        if (!found)
          throw new RecordsError(
            'answer-not-found',
            `No answer of this service with UID ${uid} found${chain === undefined ? '' : ` on ${given.chain}`}`,
          )
        return found
      })
      return row ? reply.type(JSON_TYPE).send(answerText(row)) : reply
    })
    done()
  }
}

/** An answer as JSON, the fields in the order of the documentation. */
function answerText(row: AnswerResult): string {
  const { uid, chain, attester, recipient, operation, result, units, value } = row
  const { input_refs, computed_at, timestamp, revoked } = row
  const fields = JSON.stringify({
    ...{ uid, chain, attester: checksumAddress(attester), recipient: checksumAddress(recipient) },
    ...{ operation, result, units, value, input_refs, computed_at, timestamp, revoked },
  })
  return `${fields.slice(0, -1)},${provenanceText(row)}}`
}
