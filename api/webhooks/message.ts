import { createHash } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { messageType, type RecordEvent } from '../stream'

/** A message to send. Its body is the same in every attempt of every process. */
export interface Message {
  /** Standard Webhooks' webhook-id: the same in every attempt, different for each subscription. */
  id: string
  body: string
}

const LONGEST_PAUSE_MS = 6 * 3_600_000
/** Longest pause that a receiver may request with Retry-After, in milliseconds. */
export const LONGEST_WISH_MS = 24 * 3_600_000

/** Returns the body of the message about an event: JSON of `type`, `timestamp` and `data`. */
export function bodyOf({ name, loggedAt, data }: RecordEvent): string {
  return `{"type":"${messageType(name)}","timestamp":"${loggedAt.toISOString()}","data":${data}}`
}

/** Returns a webhook-id, derived from the values that make a message unique. */
export function messageId(subscription: string, ...parts: readonly (string | number)[]): string {
  const hash = createHash('sha256').update([subscription, ...parts].join(' '))
  return `msg_${hash.digest('base64url').slice(0, 27)}`
}

/** Returns the headers of an attempt. Each secret signs, so that a receiver needs only one of them. */
export function headersOf(
  { id, body }: Message,
  secrets: readonly string[],
  now: Date,
): Record<string, string> {
  return {
    'content-type': 'application/json; charset=utf-8',
    'user-agent': 'geospatial-attestation-service',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, now, body)).join(' '),
  }
}

/** Milliseconds of the pause after a number of failures in sequence. A receiver may request a longer one. */
export function pauseAfter(
  failures: number,
  firstPauseMs: number,
  retryAfter: string | undefined,
  now: Date,
): number {
  const usual = Math.min(firstPauseMs * 3 ** (failures - 1), LONGEST_PAUSE_MS) * (0.75 + Math.random() / 2)
  if (retryAfter === undefined) return usual
  const wished = /^\d+$/.test(retryAfter)
    ? Number(retryAfter) * 1000
    : new Date(retryAfter).getTime() - now.getTime()
  return Math.max(usual, Math.min(wished || 0, LONGEST_WISH_MS))
}
