// SPDX-License-Identifier: MIT
import { PassThrough } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { UncertainError } from '@geospatial-attestation/client'
import { expect, test } from 'vitest'
import { mcp } from './mcp'
import type { Session } from './session'

const HASH = '0x7a'
const answer = {
  ...{ chainId: 1, attestation: { data: '0x', signature: '0x' }, delegatedAttestation: { deadline: 1 } },
  attestByDelegation: { data: {}, signature: { v: 27, r: '0x', s: '0x' } },
}
const LINES = [
  {
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  },
  { method: 'notifications/initialized' },
  { id: 2, method: 'tools/call', params: { name: 'land_answer', arguments: { answer } } },
].map((each) => JSON.stringify({ jsonrpc: '2.0', ...each }))

/** Runs geo mcp until a transaction is sent, which never is in a block, and then `end`. */
async function interrupted(end: (stop: AbortController, stdin: PassThrough) => void) {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()]
  const stop = new AbortController()
  let pending: string | undefined
  const land = async (
    _: object,
    __: object,
    given: { signal: AbortSignal; onStep: (step: object) => void },
  ) => {
    given.onStep({ step: 'sent', transactionHash: HASH })
    setImmediate(() => end(stop, stdin))
    await pause(60_000, undefined, { signal: given.signal })
  }
  const session = {
    ...{ geo: { chain: async () => ({ slug: 'ethereum' }), land }, options: { keyFile: 'key' } },
    ...{ context: { stdin, stdout }, signal: stop.signal, note: () => {} },
    ...{ account: async () => ({}), wallet: async () => ({}) },
    sent: (hash: string) => (pending = hash),
  } as unknown as Session
  stdin.write(`${LINES.join('\n')}\n`)
  const error = await mcp(session).catch((error: unknown) => error)
  return { error, pending }
}

test('geo mcp reports a transaction that is pending when it is stopped', { tags: ['slow'] }, async () => {
  const reason = new Error('Ended by Ctrl-C.')
  expect(await interrupted((stop) => stop.abort(reason))).toEqual({ error: reason, pending: HASH })
  const left = await interrupted((_, stdin) => stdin.end())
  expect(left).toEqual({ error: expect.any(UncertainError), pending: HASH })
})
