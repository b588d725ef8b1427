import { Logger, type LogRecord } from '@subsquid/logger'
import { expect, test } from 'vitest'
import * as eas from '../abi/EAS'
import { ContradictionError, type ChainBlock } from '../chain'
import { CHAINS } from '../chains'
import { LOCATION_SCHEMA } from '../location'
import { decodeEvents, gatewayLog } from './processor'

const CHAIN = CHAINS[0]!
const UID = `0x${'1'.repeat(64)}`

function blockWith(data: string): ChainBlock {
  const topics = [eas.events.Attested.topic, UID, UID, LOCATION_SCHEMA.uid]
  return {
    header: { height: 1, hash: UID, parentHash: UID, timestamp: 0 },
    logs: [{ address: CHAIN.eas, topics, data, logIndex: 0, transactionHash: UID }],
  }
}

test.each(['0x', UID.slice(0, -1), `${UID}00`])(
  'the processor rejects the data %s, so that it reads the log again',
  (data) => {
    expect(decodeEvents(CHAIN, blockWith(UID))).toMatchObject([{ uid: UID }])
    expect(() => decodeEvents(CHAIN, blockWith(data))).toThrow(ContradictionError)
  },
)

test('the log of a gateway contains no key of its URL', () => {
  const records: LogRecord[] = []
  const log = gatewayLog(new Logger((record) => records.push(record), 'test')).child('archive')
  const url = 'https://gateway.example/secret/height'
  log.warn({ reason: `Got 503 from ${url}`, response: { url } }, 'archive request failed')
  expect(records).toMatchObject([{ msg: 'archive request failed' }])
  expect(JSON.stringify(records)).toContain('gateway.example"')
  expect(JSON.stringify(records)).not.toContain('secret')
})
