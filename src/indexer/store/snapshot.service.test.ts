import { expect, test } from 'vitest'
import { createMigratedDatabase } from '../../../test/database'
import { attestedPlace } from '../../../test/hostile'
import { CHAINS } from '../../chains'
import { eventRow } from '../project'
import { insertEvents } from './batch'
import { Database } from './connection'
import { rowOf } from './log'
import { atOneMoment, eventTexts } from './snapshot'

const CHAIN = CHAINS[3]!

test('a snapshot has the payloads of a server that is set to write bytes in another form', async () => {
  const url = new URL((await createMigratedDatabase()).url)
  url.searchParams.set('options', '-c bytea_output=escape')
  const database = new Database(url.href, () => {})
  const { event, body } = attestedPlace(1, '1,2', 'coordinate-decimal+lon-lat')
  try {
    await database.transaction((_, copy) => insertEvents(copy, [eventRow(CHAIN.slug, event, body)]))
    const payloads: unknown[] = []
    await atOneMoment(database, async (query) => {
      for await (const page of eventTexts(query, CHAIN, event.blockNumber))
        payloads.push(...page.map((text) => rowOf(text).data))
    })
    expect(payloads).toEqual([body.data])
  } finally {
    await database.close()
  }
})
