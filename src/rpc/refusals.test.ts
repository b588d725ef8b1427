import { RpcError } from '@subsquid/rpc-client'
import { expect, test } from 'vitest'
import { allowedRange, isTemporary } from './refusals'

const errorOf = (message: string) => new RpcError({ code: -32005, message })

test.each([
  'rate limit exceeded',
  'project ID request rate exceeded',
  'credits limited to 6000/sec',
  '50/second request limit reached - reduce calls per second or upgrade your account',
  'Your app has exceeded its compute units per second capacity.',
  'the application has exceeded its throughput limit',
  'limited to 100 blocks per second',
])('the RPC client retries a call that was refused with: %s', (message) => {
  expect(isTemporary(errorOf(message))).toBe(true)
})

test.each<[string, number | undefined]>([
  ['eth_getLogs is limited to a 5 range', 5],
  ['You can make eth_getLogs requests with up to a 10 block range', 10],
  ['block range too large, maximum is 10K blocks', 10_000],
  ['range 1000000 exceeds limit of 10000', 10_000],
  ['block range too large, range: 20,001, max: 10,000', 10_000],
  ['exceed maximum block range: 50000', 50_000],
  ['up to a 500 block range is allowed; 25 requests per second on the free plan', 500],
  ['block range 5000 max 2 MB', undefined],
  ['block range 5000 max 2', 2],
  ['block range 20000 max 2.5 MB', undefined],
  ['block range 20000 max 10 MB', undefined],
  ['block range 20000 max 10K, or 5 MB', 10_000],
  ['query returned more than 10000 results', undefined],
  ['query exceeds the limit of 30 seconds', undefined],
  ['limit exceeded', undefined],
])('a refused range of blocks is narrowed as the error states: %s', (message, blocks) => {
  expect(allowedRange(errorOf(message))).toBe(blocks)
  expect(isTemporary(errorOf(message))).toBe(false)
})
