import { expect, test } from 'vitest'
import { LOCAL_CHAIN } from '../../dev/chain'
import { buildTestServer } from '../../test/api'
import { openApiChecker } from '../../test/openapi'

const OPERATOR = { rpcUrl: 'http://127.0.0.1:1', quorum: `0x${'a'.repeat(40)}` }

test('GET / of an operator is documented', async () => {
  const { app } = await buildTestServer(OPERATOR)
  const response: { endpoints: object } = (await app.inject('/')).json()
  expect(response.endpoints).toHaveProperty('quorum')
  const checker = openApiChecker((await app.inject('/openapi.json')).json())
  checker.check({ ...{ method: 'GET', path: '/', status: 200, type: 'application/json' }, response })
})
test('the metrics count the requests to sign that were refused, by kind', async () => {
  const { app } = await buildTestServer(OPERATOR)
  const point = { type: 'Point', coordinates: [2.2945, 48.8584] }
  const sign = (changed: object) =>
    app.inject({
      ...{ method: 'POST', url: '/quorum/v0/sign' },
      payload: {
        ...{ operation: 'distance', chainId: LOCAL_CHAIN.id, from: point, to: point, epoch: 1 },
        ...{ timestamp: 0, deadline: 0, expirationTime: 0, ...changed },
      },
    })
  await sign({})
  await sign({})
  await sign({ operation: 'volume' })
  await app.inject('/quorum/v0/sign')
  const counts = (await app.inject('/metrics')).body.matchAll(
    /^geospatial_quorum_refusals_total\{refusal="([^"]+)"\} (\d+)$/gm,
  )
  expect(Object.fromEntries([...counts].map(([, kind, count]) => [kind, Number(count)]))).toEqual({
    ...{ revoked: 0, expired: 0, 'unknown-input': 0, 'not-indexed-yet': 2, skew: 0, 'wrong-epoch': 0 },
    ...{ busy: 0, 'invalid-input': 1, failed: 0 },
  })
})
