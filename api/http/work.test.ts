import { EventEmitter } from 'node:events'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { afterEach, expect, test, vi } from 'vitest'
import { RecordsError, UnavailableError } from './problems'
import { beginWork, joined, workOf } from './work'

const own = () => Promise.resolve('own')
afterEach(() => vi.useRealTimers())

test('shared work does not apply the limit of its first client to a client that joins', async () => {
  expect(await joined(() => Promise.resolve('shared'), own)).toBe('shared')
  const limited = Promise.reject(new RecordsError('rate-limited', 'x'))
  expect(await joined(() => limited, own)).toBe('own')
  const unavailable = Promise.reject(new UnavailableError('x'))
  await expect(joined(() => unavailable, own)).rejects.toThrow(UnavailableError)
  expect(await joined(() => undefined, own)).toBe('own')
})

test('a client joins work that starts while the client waits in the queue of another client', async () => {
  vi.useFakeTimers()
  const [slow, newer] = [new Promise<string>(() => {}), Promise.resolve('newer')]
  let begun = slow
  const late: unknown[] = []
  const one = joined(
    () => begun,
    (each) => {
      late.push(each)
      return own()
    },
  )
  await vi.advanceTimersByTimeAsync(999)
  expect(late).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect([await one, late]).toEqual(['own', [slow]])
  const two = joined(() => begun, own)
  begun = newer
  await vi.advanceTimersByTimeAsync(1_000)
  expect([await two, vi.getTimerCount()]).toEqual(['newer', 0])
})

test('the work of a request ends with its connection, even if the connection has already closed', () => {
  const begun = (destroyed: boolean) => {
    const [request, raw] = [{} as FastifyRequest, Object.assign(new EventEmitter(), { destroyed })]
    beginWork(request, { raw } as unknown as FastifyReply, 'client')
    return { raw, work: workOf(request) }
  }
  const [first, second] = [begun(false), begun(false)]
  const { signal } = first.work
  expect([first.work.client, signal.aborted]).toEqual(['client', false])
  for (const { raw } of [first, second]) raw.emit('close')
  expect(signal.reason).toMatchObject({ statusCode: 499 })
  // Its signal is first read after the end.
  expect(second.work.signal.reason).toMatchObject({ statusCode: 499 })
  expect(begun(true).work.signal.reason).toMatchObject({ statusCode: 499 })
})
