import { Pool, type PoolClient } from 'pg'
import { afterEach, expect, test, vi } from 'vitest'
import { DatabaseServers } from './servers'

afterEach(() => vi.restoreAllMocks())

test('begin() releases the connection of a replica once if the replica stops while it catches up', async () => {
  const [primary, replica] = ['postgres://127.0.0.1:1/x', 'postgres://127.0.0.1:2/x']
  const marks = (pool: Pool) => ({ celo: [1, pool.options.connectionString === primary ? 5 : 4] })
  const stopped = Object.assign(new Error('terminating connection'), { code: '57P01' })
  vi.spyOn(Pool.prototype, 'query').mockImplementation(function (this: Pool): unknown {
    return this.options.connectionString === replica
      ? Promise.reject(stopped)
      : Promise.resolve({ rows: [{ marks: marks(this), standby: false }] })
  })
  const released: unknown[] = []
  vi.spyOn(Pool.prototype, 'connect').mockImplementation(function (this: Pool): unknown {
    const server = this.options.connectionString
    return Promise.resolve({
      server,
      query: () => Promise.resolve({ rows: [{ marks: marks(this) }] }),
      release: () => released.push(server),
    })
  })
  const servers = new DatabaseServers(primary, [replica], () => {})
  const client = (await servers.begin({})) as PoolClient & { server: string }
  await servers.close()
  expect([client.server, released]).toEqual([primary, [replica]])
})

test.each([
  ['postgres://u:p@one:5432/x', 'one:5432'],
  ['postgres://u:p@[::1]:5432/x', '[::1]:5432'],
  ['postgres:///x', 'localhost'],
  ['postgres://u@/x?host=/run/postgresql', '/run/postgresql'],
  ['postgres://u@one:5433/x?host=two', 'two:5433'],
  ['postgres://u@one:5433/x?port=5434', 'one:5434'],
])('connections() names the host of %s', async (url, host) => {
  const servers = new DatabaseServers(url, [], () => {})
  expect(servers.connections().map(([name]) => name)).toEqual([host])
  await servers.close()
})
