import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { Type, type TSchema } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { CHANGES_KEPT_DAYS } from '../../src/config'
import { cut } from '../../src/cut'
import type { SafeSender } from '../outgoing'
import { instantOf } from '../http/iso-8601'
import { recordsError, recordsErrors } from '../http/openapi-components'
import { RecordsError } from '../http/problems'
import { pathOf, queryOf, readParameters, textParameter, wholeParameter } from '../http/parameters'
import { withTypes } from '../http/schema'
import { bodyValidator, withRules } from '../http/validation'
import type { Finality, Store } from '../store'
import {
  changesAfter,
  currentPosition,
  LostPositionError,
  parsePosition,
  positionAt,
  positionText,
} from '../stream'
import type { SubscriptionRow, WebhookStore } from './store'
import { MOST_SUBSCRIPTIONS, problemOf, SECRET_FIELD, SUBSCRIPTION_FIELDS } from './subscriptions'

export interface WebhookAdminParts {
  store: Store
  webhooks: WebhookStore
  sender: SafeSender
  /** Key that grants full access to these routes. */
  adminKey: string
  /** Unix milliseconds */
  clock: () => number
}

const PAGE = 100
const closed = { additionalProperties: false }
const GIVEN = Type.Object(
  {
    ...SUBSCRIPTION_FIELDS,
    secret: Type.Optional(SECRET_FIELD),
  },
  closed,
)
const REPLAY = Type.Object(
  {
    position: Type.Optional(
      withRules(Type.String({ description: 'The id of an event of the stream of the same finality.' }), {
        type: 'expected the id of an event of the stream',
      }),
    ),
    since: Type.Optional(
      withRules(
        Type.String({
          description: 'A time, UTC if it has no offset. All changes logged after it are sent.',
        }),
        {
          type: 'expected a time such as 2026-01-31T12:00:00Z',
          test: (time) =>
            instantOf(time) === undefined ? 'expected a time such as 2026-01-31T12:00:00Z' : undefined,
        },
      ),
    ),
  },
  closed,
)
const SUBSCRIPTION = Type.Object({
  id: Type.String(),
  source: Type.String({ description: '`file`: from WEBHOOKS_FILE; `admin`: created by this API.' }),
  url: Type.String(),
  finality: Type.String(),
  filter: Type.Record(Type.String(), Type.String()),
  state: Type.String({ description: '`active`, `failing`, or `disabled`.' }),
  position: Type.Union([Type.String(), Type.Null()], {
    description: 'Position before the next change to send; null: starts now.',
  }),
  failures: Type.Integer({ description: 'Failed attempts since the last successful one.' }),
  last_error: Type.Union([Type.String(), Type.Null()]),
  next_try: Type.Union([Type.String(), Type.Null()]),
  disabled: Type.Union([Type.String(), Type.Null()], { description: 'Reason why nothing is sent.' }),
  dead_letters: Type.Integer(),
  created_at: Type.String(),
})
const WITH_SECRET = Type.Object({ ...SUBSCRIPTION.properties, secret: Type.String() })
const DEAD_LETTER = Type.Object({
  number: Type.Integer({ description: 'Number, ascending within the subscription.' }),
  message: Type.String({ description: 'Its webhook-id.' }),
  body: Type.String({ description: 'The message.' }),
  attempts: Type.Integer(),
  error: Type.String({ description: 'Problem of the last attempt.' }),
  died_at: Type.String(),
  wanted_at: Type.Union([Type.String(), Type.Null()], { description: 'Time when a retry was requested.' }),
})

/** Reads a text. Postgres does not store NUL in one. */
function readName(text: string): string {
  if (text.includes('\0')) throw new RecordsError('invalid-request', 'Expected an address without NUL (%00)')
  return text
}
const ID = textParameter('ID of the subscription.', readName)
const BY_ID = { params: pathOf({ id: ID }) }
const ERRORS = recordsErrors({
  'invalid-request': 'The request is invalid.',
  unauthorized: 'The admin key is missing or incorrect.',
  unavailable: 'The database is unreachable.',
})
const UNKNOWN = { 404: recordsError('No such subscription, or message.') }
const OF_FILE = { 409: recordsError('The subscription is defined in WEBHOOKS_FILE: edit the file.') }

/** Schema of a route. `response` is undefined if there is no body. */
const route = <More extends object>(
  operationId: string,
  summary: string,
  description: string,
  [status, response]: [number, TSchema | undefined],
  errors: object,
  more: More,
) => ({
  schema: {
    operationId,
    summary,
    description,
    tags: ['Admin'],
    security: [{ adminKey: [] }],
    querystring: queryOf({}),
    response: {
      [status]: {
        description: summary,
        ...(response ? { content: { 'application/json': { schema: response } } } : { type: 'null' }),
      },
      ...ERRORS,
      ...errors,
    } as Record<number, object>,
    ...more,
  },
})

/** /admin/v0/webhooks: webhook subscriptions, for clients with the admin key (docs/reference/webhooks.md). */
export function webhookAdminRoutes(parts: WebhookAdminParts) {
  return (app: FastifyInstance, _options: object, done: () => void): void => {
    checkRequests(app, parts.adminKey)
    const scope = withTypes(app)
    subscriptionRoutes(scope, parts)
    changeRoutes(scope, parts)
    deadLetterRoutes(scope, parts)
    done()
  }
}

function checkRequests(app: FastifyInstance, adminKey: string): void {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const wanted = digest(`Bearer ${adminKey}`)
  app.addHook('onRequest', (request, reply, next) => {
    if (timingSafeEqual(digest(request.headers.authorization ?? ''), wanted)) return next()
    void reply.header('www-authenticate', 'Bearer')
    next(new RecordsError('unauthorized', 'Expected the header Authorization: Bearer and the admin key'))
  })
  app.setValidatorCompiler((route) =>
    route.httpPart === 'body'
      ? bodyValidator(route.schema as TSchema, (problem) => new RecordsError('invalid-request', problem))
      : readParameters(route),
  )
  app.addHook('preHandler', (request, _reply, next) => {
    if (!request.routeOptions.schema?.body && JSON.stringify(request.body ?? {}) !== '{}')
      throw new RecordsError('invalid-request', 'body: expected no body')
    next()
  })
  app.addHook('onSend', (_request, reply, _payload, next) => {
    void reply.header('cache-control', 'no-store')
    next()
  })
}

type Scope = ReturnType<typeof withTypes>

function subscriptionRoutes(app: Scope, { store, webhooks, sender }: WebhookAdminParts): void {
  app.post(
    '/webhooks',
    route(
      'addWebhook',
      'Adds a subscription',
      'Deliveries start now. `secret` is not shown again.',
      [201, WITH_SECRET],
      { 409: recordsError('The maximum number of subscriptions exists.') },
      { body: GIVEN },
    ),
    async ({ body }, reply) => {
      const { url, finality = 'final', filter = {}, secret = madeSecret() } = body
      const problem = problemOf(body, sender)
      if (problem) throw new RecordsError('invalid-request', problem)
      const id = `wh_${randomBytes(12).toString('hex')}`
      const position = positionText(await currentPosition(store, finality))
      const given = { id, url, finality, filter, secrets: [secret] }
      const row = await webhooks.add(given, position, MOST_SUBSCRIPTIONS)
      if (!row)
        throw new RecordsError(
          'invalid-request',
          `The maximum of ${MOST_SUBSCRIPTIONS} subscriptions exists. Delete one first.`,
          409,
        )
      return reply.status(201).send({ ...row, secret })
    },
  )
  app.get(
    '/webhooks',
    route(
      'listWebhooks',
      'Subscriptions, ordered by id',
      'At most 100 a page.',
      [200, Type.Array(SUBSCRIPTION)],
      {},
      {
        querystring: queryOf({ after: textParameter('Last id of the previous page.', readName) }),
      },
    ),
    ({ query }) => webhooks.list(query.after ?? '', PAGE),
  )
  app.get(
    '/webhooks/:id',
    route('getWebhook', 'A subscription', 'Secrets are not shown.', [200, SUBSCRIPTION], UNKNOWN, BY_ID),
    ({ params }) => known(webhooks, params.id),
  )
  app.delete(
    '/webhooks/:id',
    route(
      'removeWebhook',
      'Ends a subscription',
      'A message that is being delivered still arrives.',
      [204, undefined],
      { ...UNKNOWN, ...OF_FILE },
      BY_ID,
    ),
    async ({ params }, reply) => {
      await webhooks.remove((await own(webhooks, params.id)).id)
      return reply.status(204).send()
    },
  )
}

function changeRoutes(app: Scope, { store, webhooks, clock }: WebhookAdminParts): void {
  app.post(
    '/webhooks/:id/rotate-secret',
    route(
      'rotateWebhookSecret',
      'A new secret',
      'The old secret remains valid for 24 hours.',
      [200, WITH_SECRET],
      { ...UNKNOWN, ...OF_FILE },
      BY_ID,
    ),
    async ({ params }) => {
      const row = await own(webhooks, params.id)
      const secret = madeSecret()
      await webhooks.rotate(row.id, secret)
      return { ...(await known(webhooks, row.id)), secret }
    },
  )
  app.post(
    '/webhooks/:id/replay',
    route(
      'replayWebhook',
      'Resends all changes after a position or a time',
      'With the same ids and bytes. Enables a disabled one.',
      [202, SUBSCRIPTION],
      UNKNOWN,
      { ...BY_ID, body: REPLAY },
    ),
    async ({ params, body: { position, since } }, reply) => {
      const { id, finality } = await known(webhooks, params.id)
      if ((position === undefined) === (since === undefined))
        throw new RecordsError('invalid-request', 'Expected either position or since')
      if (position !== undefined) await expectKept(store, position, finality)
      const time = new Date(since === undefined ? 0 : instantOf(since)!)
      const earliest = new Date(clock() - CHANGES_KEPT_DAYS * 86_400_000)
      if (since !== undefined && time < earliest)
        throw new RecordsError(
          'invalid-request',
          `since: changes are stored for ${CHANGES_KEPT_DAYS} days. Expected ${earliest.toISOString()} or later.`,
        )
      if (time.getTime() > clock())
        throw new RecordsError('invalid-request', 'since: expected a time in the past')
      await webhooks.replay(
        id,
        position ?? positionText(positionAt(finality, await webhooks.changesUntil(time))),
      )
      return reply.status(202).send(await known(webhooks, id))
    },
  )
}

function deadLetterRoutes(app: Scope, { webhooks }: WebhookAdminParts): void {
  app.get(
    '/webhooks/:id/dead-letters',
    route(
      'listDeadLetters',
      'Dead letters: messages whose delivery failed, oldest first',
      'At most 100 a page. They are stored for 30 days.',
      [200, Type.Array(DEAD_LETTER)],
      UNKNOWN,
      {
        ...BY_ID,
        querystring: queryOf({
          after: wholeParameter(0, 'Last number of the previous page.'),
        }),
      },
    ),
    async ({ params, query }) =>
      webhooks.deadLetters((await known(webhooks, params.id)).id, query.after ?? 0, PAGE),
  )
  app.post(
    '/webhooks/:id/dead-letters/:message/redeliver',
    route(
      'redeliverDeadLetter',
      'Retries a message',
      'The dead letter is deleted once the receiver accepts it.',
      [202, undefined],
      UNKNOWN,
      { params: pathOf({ id: ID, message: textParameter('Its webhook-id.', readName) }) },
    ),
    async ({ params: { id, message } }, reply) => {
      if (!(await webhooks.want((await known(webhooks, id)).id, message)))
        throw new RecordsError('not-found', `Dead letter not found: '${cut(message, 64)}'`)
      return reply.status(202).send()
    },
  )
}

/** Returns the subscription with this id. Throws a RecordsError if it does not exist. */
async function known(webhooks: WebhookStore, id: string): Promise<SubscriptionRow> {
  const row = await webhooks.get(id)
  if (!row) throw new RecordsError('not-found', `Subscription not found: '${cut(id, 64)}'`)
  return row
}

/** Returns a subscription that was made by this API. The others can only be changed in the settings file. */
async function own(webhooks: WebhookStore, id: string): Promise<SubscriptionRow> {
  const row = await known(webhooks, id)
  if (row.source === 'file')
    throw new RecordsError(
      'invalid-request',
      'The subscription is defined in WEBHOOKS_FILE. Edit the file',
      409,
    )
  return row
}

/** Throws if a replay from this position would send a `reset`, and lose undelivered messages. */
async function expectKept(store: Store, text: string, finality: Finality): Promise<void> {
  const position = parsePosition(text)
  const problem = (why: string) =>
    new RecordsError(
      'invalid-request',
      `position: expected the id of an event of the stream with finality=${finality}. ${why}`,
    )
  if (!position) throw problem('This is not a position.')
  try {
    const { ahead } = await changesAfter(store, finality, position)
    if (ahead) throw problem('This position is after the last event.')
  } catch (error) {
    throw error instanceof LostPositionError ? problem(error.message) : error
  }
}

function madeSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}
