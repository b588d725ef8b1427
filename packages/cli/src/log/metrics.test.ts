// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { serve } from '../../../../test/http-server'
import { UsageError } from '../exit'
import { Metrics, publish } from './metrics'

test('metrics are rejected for a port that does not exist or is in use, as invalid usage', async () => {
  const used = new URL(await serve((_, response) => response.end())).port
  for (const port of ['65536', '99999999', used])
    await expect(publish(new Metrics(), port, (file) => file)).rejects.toThrow(UsageError)
})
