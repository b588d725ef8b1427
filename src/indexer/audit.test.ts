import { expect, test, vi } from 'vitest'
import { SILENT } from '../../test/rpc-proxy'
import { Doubt } from '../chain'
import { CHAINS } from '../chains'
import { auditOutcome, Auditor } from './audit'
import { RangeAuditor, type AuditOptions } from './range-auditor'

test('the outcome of an audit names false receipts and receipts of an unknown format', () => {
  const none = { events: 7, repaired: 0, unproven: 0, contradicted: 0 }
  expect(auditOutcome(none)).toEqual({
    text: 'the chain has 7 indexed events; the log matches',
    isCorrect: true,
  })
  expect(auditOutcome({ ...none, repaired: 1 }).isCorrect).toBe(false)
  const unknown = auditOutcome({ ...none, unproven: 2 })
  expect([unknown.text, unknown.isCorrect]).toEqual([
    expect.stringContaining('2 blocks have an unknown'),
    true,
  ])
  const both = auditOutcome({ ...none, unproven: 3, contradicted: 1 })
  expect([both.text, both.isCorrect]).toEqual([expect.stringContaining('2 blocks have an unknown'), false])
  expect(both.text).toContain('false receipts of 1 blocks')
})

test('the audit ends the doubt about proven blocks between unproven ones', async () => {
  const doubt = new Doubt()
  doubt.unprovenAtHead = [1, 3, 4, 5, 9, 10]
  const auditor = new Auditor({
    ...{ chain: CHAINS[0]!, doubt, log: SILENT, rpc: { route: () => ({}) } },
    ...{ registry: { filters: [] }, database: { query: () => Promise.resolve([]) } },
    head: { settled: (from: number, to: number) => doubt.proven(from, to) },
  } as unknown as AuditOptions)
  const proof = { events: 0, repaired: 0, calls: 0, unproven: [4, 5, 10], contradicted: new Set<number>() }
  vi.spyOn(RangeAuditor.prototype, 'prove').mockResolvedValue(proof)
  await auditor.prove(2, 10)
  expect(doubt.unprovenAtHead).toEqual([1, 4, 5, 10])
})

test('the audit ends the doubt about a proof that is stored although a statement failed', async () => {
  const doubt = new Doubt()
  doubt.unprovenAtHead = [4, 5]
  const proven: number[] = []
  let late: number | null = 4
  const query = (sql: string) => {
    if (sql.includes('indexed_height >=')) return [{ follows: true }]
    if (sql.includes('json_build_object')) return [{ final: { height: 4, hash: '0x' }, top: null }]
    if (sql.includes('AS gap')) return proven.length ? [] : [{ from: '1', to: '4' }]
    if (sql.includes('max(read_from)')) return [{ end: late }]
    if (sql.includes('SET read_from = block_number')) late = null
    return []
  }
  let at = 0
  const ended = new AbortController()
  const auditor = new Auditor({
    ...{ chain: { ...CHAINS[0]!, firstBlock: 1 }, doubt, log: SILENT },
    ...{ rpc: { route: () => ({ turn: () => {} }) }, registry: { filters: [], takeNoted: () => {} } },
    ...{ database: { query: (sql: string) => Promise.resolve(query(sql)) } },
    ...{ clock: { now: () => at, pause: (ms: number) => new Promise((go) => setImmediate(go, (at += ms))) } },
    head: {
      known: () => undefined,
      mayBeUnproven: () => true,
      settled: (from: number, to: number) => doubt.proven(from, to),
    },
  } as unknown as AuditOptions)
  vi.spyOn(RangeAuditor.prototype, 'prove').mockImplementation(({ to }) => {
    proven.push(to)
    return Promise.reject(new Error('the connection ended before the response'))
  })
  const following = auditor.follow(1, ended.signal)
  await expect
    .poll(() => [doubt.unprovenAtHead, doubt.repairsPending, proven, late])
    .toEqual([[5], 0, [4], null])
  ended.abort()
  await following
})
