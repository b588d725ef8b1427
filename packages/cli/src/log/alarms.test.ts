// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { answers, startReceiver } from '../../../../test/receiver'
import { Alarms, type Alarm, type AlarmState } from './alarms'
import { Metrics } from './metrics'

test('alarms are raised once per episode, and only the first hundred wait for the webhook', async () => {
  const receiver = await startReceiver(() => answers.ok)
  const state: AlarmState = { raised: [], unsent: [], omitted: 0 }
  const printed: Alarm[] = []
  const session = {
    options: { json: true, webhook: receiver.url },
    printJson: (alarm: Alarm) => printed.push(alarm),
    signal: new AbortController().signal,
  }
  const alarms = new Alarms(session as never, 'log', state, new Metrics())
  for (let at = 0; at < 2_500; at++) alarms.raise('entry', `Entry ${at}`, String(at))
  for (const size of [7, 8, 9]) alarms.raise('quorum', `size ${size}`, 'since 5')
  expect([alarms.count, printed.length]).toEqual([2_503, 2_501])
  expect([state.unsent.length, state.omitted]).toEqual([100, 2_401])
  expect(state.raised.length).toBe(1_000)
  await alarms.send()
  const sent = receiver.received.map(({ body }) => JSON.parse(body) as Alarm)
  expect([sent.length, sent[99]?.message, sent[100]?.kind]).toEqual([101, 'Entry 99', 'omitted'])
  expect(sent[100]?.message).toContain('2401')
  expect([state.unsent.length, state.omitted]).toEqual([0, 0])
  receiver.close()
})

test('an alarm is sent again later if the webhook redirects it', async () => {
  const receiver = await startReceiver(({ path }) =>
    path === '/' ? answers.status(302, { location: '/there' }) : answers.ok,
  )
  const state: AlarmState = { raised: [], unsent: [], omitted: 0 }
  const notes: string[] = []
  const session = {
    options: { json: true, webhook: receiver.url },
    ...{ printJson: () => {}, note: (line: string) => notes.push(line) },
    signal: new AbortController().signal,
  }
  const alarms = new Alarms(session as never, 'log', state, new Metrics(), [1, 5])
  alarms.raise('fork', 'A fork', '1')
  await alarms.send()
  expect(receiver.received.length).toBe(3)
  expect([state.unsent.length, notes.length]).toEqual([1, 1])
  expect(new Set(receiver.received.map(({ path }) => path))).toEqual(new Set(['/']))
  receiver.close()
})

test('the metrics of a later run with the same state have the earlier alarms', () => {
  const state: AlarmState = { raised: [], unsent: [], omitted: 0 }
  const session = { options: { json: true }, printJson: () => {} }
  for (const run of ['first', 'second']) {
    const metrics = new Metrics()
    new Alarms(session as never, 'log', state, metrics).raise('fork', 'A fork', 'after 5 entries')
    expect(metrics.text(), run).toContain('\ngeo_log_monitor_alarms_total{kind="fork"} 1\n')
  }
})
