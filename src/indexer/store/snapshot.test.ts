import { expect, test } from 'vitest'
import { CHAINS } from '../../chains'
import type { Query } from './connection'
import { endRestore } from './snapshot'

test('the end of a restore reads the event log without the time limit of statements', async () => {
  const statements: string[] = []
  const query = (async (sql: string) => {
    statements.push(sql)
    return [{ stored: 3 }]
  }) as unknown as Query
  const position = { finalHeight: 9, finalHash: '0x9', schemas: [], epoch: null }
  await endRestore(query, CHAINS[0]!, position, 3)
  const [lifted] = statements.flatMap((sql, i) =>
    sql.includes("('statement_timeout', '0', true)") ? [i] : [],
  )
  const reads = statements.flatMap((sql, i) => (sql.includes('FROM attestation_event') ? [i] : []))
  expect(reads.length).toBeGreaterThan(0)
  expect(Math.min(...reads)).toBeGreaterThan(lifted!)
  await expect(endRestore(query, CHAINS[0]!, position, 4)).rejects.toThrow('3 of 4')
})
