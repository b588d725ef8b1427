// SPDX-License-Identifier: MIT
/**
 * The events of the stream and of webhooks, one row each. It also runs in browsers, because the client
 * derives its kinds of changes from it.
 */

export interface EventRow {
  /** Finality of the streams and subscriptions that receive the event. */
  readonly finality: 'latest' | 'final' | 'any'
  /** Meaning, in Markdown. */
  readonly meaning: string
  readonly data: 'the record' | 'a record, or what is gone' | 'a reason'
}

/** Events of the stream. Webhooks receive the events about records as `record.<name>`. */
export const EVENTS = {
  new: { finality: 'any', meaning: 'a record was added', data: 'the record' },
  revoked: { finality: 'any', meaning: 'it was revoked', data: 'the record' },
  reorged: {
    finality: 'latest',
    meaning: 'a reorg removed the record, or its revocation',
    data: 'a record, or what is gone',
  },
  corrected: {
    finality: 'final',
    meaning: 'the record, or its revocation, was never on the chain: an RPC endpoint had invented it',
    data: 'a record, or what is gone',
  },
  reset: {
    finality: 'any',
    meaning:
      'changes are missing, after more than 7 days or because the database was restored: load the list again',
    data: 'a reason',
  },
} as const satisfies Readonly<Record<string, EventRow>>
/** Names of the events about a record. */
export type EventName = Exclude<keyof typeof EVENTS, 'reset'>
