// SPDX-License-Identifier: MIT
import type { Geo } from '@geospatial-attestation/client'
import { expect, test } from 'vitest'
import { createHttpHandler, createMcpServer } from '../src'

test('count_records cuts a location type between two characters', async () => {
  const type = `${'x'.repeat(59)}\u{1f600}`
  const groups = { data: [{ location_type: `${type}yyy`, records: 3 }], groups: 1, total: 3 }
  const geo = { records: { groupBy: () => Promise.resolve(groups) } } as unknown as Geo
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const response = await createHttpHandler()(
    new Request('http://inside/mcp', { method: 'POST', headers }),
    {
      ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
      params: { name: 'count_records', arguments: { by: 'location_type' } },
    },
    () => createMcpServer({ geo }),
  )
  const { result } = (await response.json()) as any
  expect(result.structuredContent.groups).toEqual([{ location_type: type, records: 3 }])
})
