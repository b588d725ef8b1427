import { expect, test } from 'vitest'
import type { Store } from '../store'
import { currentPosition, filterOfTexts } from '../stream'
import type { Held } from './held'
import type { Lease } from './lease'
import { ChangeReader } from './reader'
import type { StoredBody, WebhookStore } from './store'

test('a subscription whose filter a record has left gets a message of its own, which is not stored', async () => {
  const [since, uid] = [new Date(0), `0x${'1'.repeat(64)}`]
  const record = { uid, chain: 'celo', locationType: 'wkt', geometry: null, text: '{"memo":"moved"}' }
  const records = [record]
  const changes = [[1, 'reorged', uid, '2026-11-01T00:00:00Z']]
  const store = {
    changesAfter: (_: string, after: object) =>
      Promise.resolve([
        { chain: 'celo', since, forgotten: 0, last: 0, changes: 'celo' in after ? changes : [] },
      ]),
    changedRecords: () => Promise.resolve(records),
  } as unknown as Store
  const stored: StoredBody[] = []
  const webhooks = {
    storeBodies: (_: string, bodies: StoredBody[]) => {
      if (stored.length === 0) stored.push(...bodies)
      return Promise.resolve(stored)
    },
  } as unknown as WebhookStore
  const position = await currentPosition(store, 'final')
  const heldWith = (filter: Record<string, string>) =>
    ({
      row: { id: 'maps', finality: 'final', readAt: since },
      filter: filterOfTexts(filter),
      state: { phase: 'reading', position, items: [] },
    }) as unknown as Held
  const [all, points] = [heldWith({}), heldWith({ location_type: 'geojson-point' })]
  const messages = new Map<Held, { id: string; body: string }[]>()
  const lease = { momentOf: () => 0 } as unknown as Lease
  const reader = new ChangeReader(store, webhooks, lease, new AbortController().signal, (held, event) =>
    messages.set(held, event.type === 'read' ? event.items.map(({ message }) => message) : []),
  )
  await reader.read([points, all])

  const bodyWith = (data: string) =>
    `{"type":"record.corrected","timestamp":"2026-11-01T00:00:00.000Z","data":${data}}`
  const [[shown], [gone]] = [messages.get(all)!, messages.get(points)!]
  expect([shown!.body, gone!.body]).toEqual([
    bodyWith(record.text),
    bodyWith(JSON.stringify({ uid, chain: 'celo' })),
  ])
  expect(stored.map(({ body }) => body)).toEqual([shown!.body])
  // The subscriptions have the same id here, so only the bytes make the ids differ.
  expect(gone!.id).not.toBe(shown!.id)

  // Once the record is gone, each subscription still gets its own message.
  records.pop()
  await reader.read([points, all])
  expect([messages.get(all), messages.get(points)]).toEqual([[shown], [gone]])
})
