import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { CHAINS } from '../../src/chains'
import { keySigner } from '../../src/eas'
import type { ChainReader } from '../contracts'
import { Attester } from './attester'

test('lastNonce follows the nonce of the chain every minute, without any request for an answer', async () => {
  let [now, nonce] = [0, 5n]
  const identity = { signer: await keySigner(`0x${'1'.repeat(64)}`), others: [], seals: [] }
  const attester = new Attester(
    identity as never,
    { chain: CHAINS[0] } as never,
    { nonce: async () => nonce } as unknown as ChainReader,
    undefined,
    () => now,
  )
  /** Values of two reads of the metric, between which a read of the chain can end. */
  const scraped = async () => {
    const first = attester.lastNonce
    await setImmediate()
    return [first, attester.lastNonce]
  }
  expect(await scraped()).toEqual([undefined, 5])
  nonce = 9n
  now = 59_999
  expect(await scraped()).toEqual([5, 5])
  now = 60_000
  expect(await scraped()).toEqual([5, 9])
})
