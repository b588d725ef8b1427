import fastify from 'fastify'
import { expect, test } from 'vitest'
import { listenUntilStopped } from './process'
import { sentence, testSentences } from '../test/sentences'

test('an address of another machine is refused with the setting that contains it', async () => {
  const names = { host: 'GQL_PORT', port: 'GQL_PORT' }
  const listening = listenUntilStopped(fastify(), { host: '192.0.2.1', port: 4350 }, names, async () => {})
  expect(await listening.catch((error: unknown) => error)).toEqual(sentence())
})

testSentences()
