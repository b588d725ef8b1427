import { describe, expect, test } from 'vitest'
import type { ChangeKind, Finality, Store } from '../store'
import {
  changesAfter,
  currentPosition,
  eventsOf,
  parsePosition,
  positionText,
  type ChangeFilter,
} from './changes'

test('a position of as many chains as CHAINS_FILE can add, with the longest slugs, can be read again', () => {
  const ids = Object.fromEntries(
    Array.from({ length: 105 }, (_, i) => [
      `${String(i).padStart(3, 'c')}${'-long'.repeat(7)}-0`,
      1e15 - 1 - i,
    ]),
  )
  const position = { epoch: 'AbC_-123', ids }
  expect(Object.keys(ids)[0]).toHaveLength(40)
  expect(parsePosition(positionText(position))).toEqual(position)
  expect(parsePosition(positionText({ ...position, epoch: 'x'.repeat(10_000) }))).toBeUndefined()
})

describe('a record that was read again', () => {
  const since = new Date(0)
  const record = {
    ...{ uid: '0x1', chain: 'celo', prover: '0xp', subject: '0xs', schema: '0xc' },
    ...{ locationType: 'geojson-point', geometry: null, text: '{"memo":"moved"}' },
  }
  /** Events of one transaction that replaced the record, as a listener with this filter receives them. */
  async function received(filter: ChangeFilter, finality: Finality = 'latest') {
    const changes = (['reorged', 'new', 'revoked'] as ChangeKind[]).map((kind, i) => [i + 1, kind, '0x1', 0])
    const store = {
      changesAfter: (_: Finality, after: object) =>
        Promise.resolve([
          { chain: 'celo', since, forgotten: 0, last: 0, changes: 'celo' in after ? changes : [] },
        ]),
      changedRecords: () => Promise.resolve([record]),
    } as unknown as Store
    const page = await changesAfter(store, finality, await currentPosition(store, finality))
    page.inBox.set('13,52,14,53', new Set()).set('0,0,1,1', new Set(['celo-0x1']))
    return eventsOf(page, filter).map(({ name, data, bytes }) => {
      expect(bytes.toString()).toContain(`event: ${name}\n`)
      expect(bytes.toString()).toContain(`data: ${data}\n`)
      return `${name} ${data}`
    })
  }
  const gone = '{"uid":"0x1","chain":"celo"}'

  test('is reported as gone to filters that it no longer passes', async () => {
    expect(await received({ bbox: [13, 52, 14, 53] })).toEqual([`reorged ${gone}`])
    expect(await received({ locationType: 'wkt' }, 'final')).toEqual([`corrected ${gone}`])
    expect(await received({ chain: 'base' })).toEqual([])
  })
  test('is shown to filters that it passes', async () => {
    const shown = ['reorged', 'new', 'revoked'].map((name) => `${name} ${record.text}`)
    expect(await received({ bbox: [0, 0, 1, 1], chain: 'celo' })).toEqual(shown)
  })
})
