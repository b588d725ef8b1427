// SPDX-License-Identifier: MIT
import { ConnectionError } from '@geospatial-attestation/client'
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { afterEach, expect, test, vi } from 'vitest'
import { createMcpServer } from '../src'
import { call, textsOf } from './call'

afterEach(() => void vi.useRealTimers())

test.each([
  [1_000.999, true],
  [1_001, false],
])('an answer of a quorum with the deadline 1000 can land at %i s: %s', async (now, submittable) => {
  vi.useFakeTimers({ toFake: ['Date'], now: now * 1000 })
  const verification = { valid: true, unknown: false, problems: [], operators: [] }
  const geo = { verifyQuorum: () => Promise.resolve(verification) }
  const answer = {
    ...{ chainId: 1, answer: { data: '0x', deadline: 1_000 } },
    ...{ quorum: '0x', signers: '1', signatures: '0x' },
  }
  expect(await call(geo, 'verify_answer', { answer })).toMatchObject({ ours: true, submittable })
})

test('verify_answer names no landing of an altered answer, whose signed content has landed', async () => {
  const landed = { status: 'landed', uid: '0xuid', transactionHash: '0x', blockNumber: 7, revoked: false }
  const seen = { ours: false, submittable: false, reasons: ['altered'], says: null, landed, deadline: 1 }
  const answer = {
    ...{ chainId: 1, attestation: { data: '0x', signature: '0x' }, delegatedAttestation: { deadline: 1 } },
    attestByDelegation: { data: {}, signature: { v: 27, r: '0x', s: '0x' } },
  }
  const geo = { verify: () => Promise.resolve(seen) }
  expect(await call(geo, 'verify_answer', { answer })).toMatchObject({ ours: false, landed: null })
  const [text] = await textsOf(geo, 'verify_answer', { answer })
  expect(text).not.toContain('0xuid')
  expect(text).toContain('altered')
})

const signed = (nonce: number) => ({
  ...{ operation: 'area', result: 1, units: 'square_meters', timestamp: 1, inputRefs: ['0x'], chainId: 1 },
  attestation: { data: '0x', signature: `0x${nonce}` },
  delegatedAttestation: { attester: '0x', deadline: 1, nonce },
  attestByDelegation: { data: {}, signature: { v: 27, r: '0x', s: '0x' } },
})

test('the instructions of a server with a quorum exclude find_zones, which one service signs', async () => {
  const instructions = async (options: object) => {
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    await createMcpServer({ geo: {} as never, ...options }).connect(theirs)
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(ours)
    const text = client.getInstructions()
    await client.close()
    return text
  }
  expect(await instructions({ quorum: {} })).toContain('find_zones')
  expect(await instructions({})).not.toContain('find_zones')
})

test('land_answer lands the last signature of an answer again after a lost connection', async () => {
  const landed: object[] = []
  let isKnown = true
  const geo = {
    ask: async () => signed(1),
    chain: async () => {
      if (isKnown) return { slug: 'ethereum' }
      throw new ConnectionError('down')
    },
    land: async (answer: object, _: object, { onStep }: { onStep: (step: object) => void }) => {
      landed.push(answer)
      for (const nonce of [2, 3]) onStep({ reason: '', answer: signed(nonce) })
      throw new ConnectionError('lost')
    },
  }
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await createMcpServer({ geo: geo as never, land: { request: async () => {} } }).connect(theirs)
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(ours)
  const polygon = { type: 'Polygon', coordinates: [] }
  await client.callTool({ name: 'area', arguments: { geometry: polygon, chain: 'ethereum' } })
  const land = (answer: unknown) => client.callTool({ name: 'land_answer', arguments: { answer } })
  for (const known of [true, true, false]) {
    isKnown = known
    expect((await land('answer-1')).isError).toBe(true)
  }
  // Without the service, which describes the chain, nothing is sent.
  expect(landed).toEqual([signed(1), signed(3)])
  isKnown = true
  // The form that a model passes as a whole has another identity on each call.
  await land(signed(1))
  await land(JSON.stringify(signed(1)))
  expect(landed.slice(2)).toEqual([signed(3), signed(3)])
  await client.close()
})
