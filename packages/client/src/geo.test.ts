// SPDX-License-Identifier: MIT
import { afterEach, expect, test, vi } from 'vitest'
import { createGeo } from './geo'

afterEach(() => void vi.useRealTimers())

test('the client caches the description of the service for a minute by its own clock', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
  let asked = 0
  const geo = createGeo({
    url: 'https://geo.example',
    fetch: async () => Response.json({ chains: [], defaultSchemas: {}, asked: ++asked }),
  })
  const infos = async () => (await geo.info(), await geo.info(), asked)
  expect(await infos()).toBe(1)
  vi.advanceTimersByTime(59_000)
  vi.setSystemTime(Date.now() + 90_000)
  expect(await infos()).toBe(1)
  vi.setSystemTime(Date.now() - 3_600_000)
  vi.advanceTimersByTime(2_000)
  expect(await infos()).toBe(2)
})
