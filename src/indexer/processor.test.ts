import { expect, test } from 'vitest'
import * as eas from '../abi/EAS'
import { ContradictionError, type ChainBlock } from '../chain'
import { CHAINS } from '../chains'
import { LOCATION_SCHEMA } from '../location'
import { decodeEvents } from './processor'

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
