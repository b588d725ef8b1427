import fastify, { type FastifyReply } from 'fastify'
import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { COMPUTE_ERRORS, COMPUTE_TEXTS, RECORDS_ERRORS, RECORDS_TEXTS, type ErrorRow } from '../../src/errors'
import {
  computeErrorHandler,
  ComputeError,
  RecordsError,
  recordsErrorHandler,
  statusOf,
  TooExpensiveError,
  UnavailableError,
} from './problems'

const PAGE = 'docs/reference/errors.md'

test(`${PAGE} lists every error (-u writes its tables)`, async () => {
  const retry = ({ retryable }: ErrorRow) =>
    retryable === true ? 'after `Retry-After`' : retryable ? 'with `Retry-After`' : 'no'
  const table = (head: string, rows: [string, ErrorRow, string][]) =>
    [
      `| ${head} | status | retry | meaning |`,
      '|---|---|---|---|',
      ...rows.map(([name, row, text]) => `| \`${name}\` | ${row.status} | ${retry(row)} | ${text} |`),
    ].join('\n')
  const keysOf = <K extends string>(record: Readonly<Record<K, unknown>>) => Object.keys(record) as K[]
  const tables = {
    slug: table(
      'slug',
      keysOf(COMPUTE_ERRORS).map((kind) => [kind, COMPUTE_ERRORS[kind], COMPUTE_TEXTS[kind]]),
    ),
    '`message`': table(
      '`message`',
      keysOf(RECORDS_ERRORS).map((kind) => [
        RECORDS_ERRORS[kind].message,
        RECORDS_ERRORS[kind],
        RECORDS_TEXTS[kind],
      ]),
    ),
  }
  let page = readFileSync(PAGE, 'utf8')
  for (const [head, text] of Object.entries(tables)) {
    const before = new RegExp(`^\\| ${head} \\|.*\\n(?:\\|.*\\n)*`, 'm')
    expect([head, before.test(page)]).toEqual([head, true])
    page = page.replace(before, () => `${text}\n`)
  }
  await expect(page).toMatchFileSnapshot(`../../${PAGE}`)
})
test('an error is marked as retryable by its kind, or by its retry time', () => {
  const of = (error: { retryable: boolean }) => error.retryable
  expect([
    ...[of(new ComputeError('rate-limited', '')), of(new ComputeError('computation-error', ''))],
    ...[of(new ComputeError('computation-error', '', 5)), of(new ComputeError('invalid-input', ''))],
    ...[of(new RecordsError('unavailable', '')), of(new RecordsError({ parameter: 'chain' }, ''))],
  ]).toEqual([true, false, true, false, true, false])
  expect(new RecordsError({ parameter: '$&' }, '').message).toBe('Invalid $& parameter')
})
const url = 'https://geo.example.org'
const HANDLERS = {
  records: recordsErrorHandler(url),
  compute: computeErrorHandler(url),
  graphql: (error: Error, _request: unknown, reply: FastifyReply) => {
    const { status, message } = statusOf(error, reply, '')!
    return reply.status(status).send({ detail: message })
  },
}
test('the error for another content type names it, in every API', async () => {
  for (const handler of Object.values(HANDLERS)) {
    const app = fastify()
    app.removeContentTypeParser('text/plain')
    app.setErrorHandler(handler as typeof HANDLERS.compute)
    app.post('/', () => '')
    for (const type of ['text/plain; charset=utf-8', `application/${'x'.repeat(200)}`]) {
      const headers = { 'content-type': type }
      const refused = await app.inject({ method: 'POST', url: '/', headers, payload: 'x' })
      const { detail } = refused.json<{ detail: string }>()
      expect(detail).toContain(`'${type.slice(0, 80)}'`)
      expect(detail).toContain('application/json')
    }
    await app.close()
  }
})
test('a stream that fails before its first byte gets an error without the headers of the stream', async () => {
  const app = fastify()
  app.setErrorHandler(HANDLERS.records)
  const headers = { 'content-encoding': 'br', 'content-range': 'bytes 0-1/2', 'last-modified': 'x' }
  const read = function (this: Readable) {
    this.destroy(new UnavailableError('Busy.'))
  }
  app.get('/', (_request, reply) => reply.headers(headers).type('text/css').send(new Readable({ read })))
  const failed = await app.inject('/')
  expect([failed.statusCode, failed.headers['content-type']]).toEqual([503, expect.stringMatching(/json/)])
  expect(failed.json<{ detail: string }>().detail).toContain('Busy.')
  expect(Object.keys(headers).filter((each) => each in failed.headers)).toEqual([])
  await app.close()
})
test('only an error that may pass has Retry-After and a sentence about it, in every API', async () => {
  for (const [name, handler] of Object.entries(HANDLERS)) {
    const app = fastify()
    app.setErrorHandler(handler as typeof HANDLERS.compute)
    app.get('/busy', () => Promise.reject(new UnavailableError('Busy.')))
    app.get('/large', () => Promise.reject(new TooExpensiveError('Narrow it.')))
    const [busy, large] = await Promise.all(['/busy', '/large'].map((path) => app.inject(path)))
    const failed = name === 'compute' ? 500 : 503
    expect([busy!.statusCode, busy!.headers['retry-after']], name).toEqual([failed, '5'])
    expect([large!.statusCode, large!.headers['retry-after']], name).toEqual([failed, undefined])
    const details = [busy!, large!].map((response) => response.json<{ detail: string }>().detail)
    expect(details.map((detail) => /retry/i.test(detail))).toEqual([true, false])
    await app.close()
  }
})
