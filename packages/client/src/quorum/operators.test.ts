// SPDX-License-Identifier: MIT
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { hunt } from '../../../../test/seed'
import { currentEpoch, Operator, QuorumError } from './operators'

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const end of ends.splice(0)) await end()
})

/** Starts an operator that responds as `respond` does. */
async function operatorOf(respond: (response: ServerResponse) => void): Promise<Operator> {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'application/json')
    respond(response)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  ends.push(() => new Promise((resolve) => void server.close(resolve).closeAllConnections()))
  return new Operator(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { url: 'http://x' })
}
const named = (operators: readonly Operator[], k: number, contract?: string) =>
  currentEpoch(operators, { operators: [], k, contract }, 1, AbortSignal.timeout(20_000))

const QUORUM = '0x00000000000000000000000000000000000000Ab'
const ACCOUNTS = ['0x00000000000000000000000000000000000000C1', '0x00000000000000000000000000000000000000d2']
const EPOCH = { epoch: 3, validFrom: 1, validUntil: 2 ** 40, threshold: 2, operators: ACCOUNTS }
const listed = (epoch: object = EPOCH, quorum = QUORUM) => [{ chainId: 1, quorum, epochs: [epoch] }]

describe('the operators of a quorum', () => {
  hunt('name the same epoch in any form of JSON, and another one by any value', 60, async (context) => {
    const { random, cases } = context
    const below = (limit: number) => Math.floor(random() * limit)
    const inAnyCase = (text: string) =>
      [text, text.toLowerCase(), `0x${text.slice(2).toUpperCase()}`][below(3)]!
    /** Writes the members in another order, with further members. */
    const inAnyForm = (value: object) => {
      const members = Object.entries(value).toSorted(() => random() - 0.5)
      return Object.fromEntries(below(2) ? [...members, [`more${below(9)}`, below(9)]] : members)
    }
    for (let each = 0; each < cases; each++) {
      const responses = Array.from({ length: 3 }, () =>
        listed(inAnyForm({ ...EPOCH, operators: ACCOUNTS.map(inAnyCase) }), inAnyCase(QUORUM)).map(inAnyForm),
      )
      const other = [
        listed({ ...EPOCH, epoch: 4 }),
        listed({ ...EPOCH, validUntil: 2 ** 41 }),
        listed({ ...EPOCH, threshold: 1 }),
        listed({ ...EPOCH, operators: ACCOUNTS.toReversed() }),
        listed({ ...EPOCH, operators: [...ACCOUNTS, ACCOUNTS[0]] }),
        listed({ ...EPOCH, operators: [[...ACCOUNTS].join()] }),
        listed(EPOCH, ACCOUNTS[0]),
      ][below(7)]!
      const isEqual = below(2) === 1
      if (!isEqual) responses[below(3)] = other
      const operators = await Promise.all(
        responses.map((body) => operatorOf((response) => response.end(JSON.stringify(body)))),
      )
      const result = await named(operators, 3).then(
        ({ epoch }) => epoch.epoch,
        (error: QuorumError) => error.name,
      )
      expect([responses, result]).toEqual([responses, isEqual ? 3 : 'QuorumError'])
      for (const end of ends.splice(0)) await end()
    }
  })

  /** Operator that responds with these lists of epochs, one after the other. */
  const listing = (...lists: object[][]) => {
    const asked: number[] = []
    const fetch = async () => {
      asked.push(performance.now())
      return Response.json([{ ...listed()[0], epochs: lists.length > 1 ? lists.shift() : lists[0] }])
    }
    return { operator: new Operator('http://one', { url: 'http://x', fetch }), asked }
  }

  test.each([
    ['begins', [[0, 100]], 1],
    ['has ended', [[-100, 0]], undefined],
    [
      'is new, and the earlier one is valid',
      [
        [-100, 100],
        [-59, 100],
      ],
      1,
    ],
    [
      'began a minute ago',
      [
        [-100, 100],
        [-60, 100],
      ],
      2,
    ],
    [
      'began a moment after the earlier one',
      [
        [-10, 100],
        [-5, 100],
      ],
      2,
    ],
  ])('name the epoch that applies if the last one %s', async (_, terms, expected) => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_700_000_000_000 })
    const epochs = terms.map(([from, until], i) => ({
      ...{ ...EPOCH, epoch: i + 1, validFrom: 1_700_000_000 + from!, validUntil: 1_700_000_000 + until! },
    }))
    const number = named([listing(epochs).operator], 1).then(
      ({ epoch }) => epoch.epoch,
      () => undefined,
    )
    expect(await number).toBe(expected)
  })

  test('are asked again every second while they cannot read the contract', async () => {
    vi.useFakeTimers()
    const { operator, asked } = listing([], [], [EPOCH])
    const found = named([operator], 1)
    await vi.advanceTimersByTimeAsync(2_000)
    expect(await found).toMatchObject({ epoch: EPOCH })
    expect(asked.map((at) => at - asked[0]!)).toEqual([0, 1_000, 2_000])
  })

  test.each([
    [['revoked'], false],
    [['revoked', 'busy'], true],
    [['not-indexed-yet'], true],
    [['other-payload'], true],
  ] as const)('may sign later after the reasons %j: %s', (reasons, retryable) => {
    const dissent = reasons.map((reason) => ({ url: 'http://one', reason, detail: 'x' }))
    expect(new QuorumError('x', dissent).retryable).toBe(retryable)
  })

  test('dissent if the contract or an account is not an address, or the threshold not a whole number', async () => {
    const values = [null, 5, true, 'x', [], {}, [QUORUM]]
    const responses = [
      ...values.map((value) => [{ ...listed()[0], quorum: value }]),
      ...values.map((value) => listed({ ...EPOCH, operators: [ACCOUNTS[0], value] })),
      ...[null, '2', 1.5].map((threshold) => listed({ ...EPOCH, threshold })),
    ]
    const operators = await Promise.all(
      responses.map((body) => operatorOf((response) => response.end(JSON.stringify(body)))),
    )
    for (const contract of [undefined, QUORUM]) {
      const error = await named(operators, 1, contract).catch((failure: unknown) => failure as QuorumError)
      expect(error).toMatchObject({ dissent: responses.map(() => ({ reason: 'wrong-epoch' })) })
    }
  })

  test('do not dissent if they agree, and too few others respond', async () => {
    const agree = await operatorOf((response) => response.end(JSON.stringify(listed())))
    const down = new Operator('http://127.0.0.1:1', { url: 'http://x' })
    await expect(named([agree, down], 2)).rejects.toMatchObject({
      dissent: [{ url: down.url, reason: 'unreachable' }],
    })
  })

  test('report the contract that they name instead of the expected one', async () => {
    const operator = await operatorOf((response) => response.end(JSON.stringify(listed())))
    await expect(named([operator], 1, ACCOUNTS[0])).rejects.toMatchObject({
      dissent: [{ reason: 'wrong-epoch', detail: expect.stringContaining(QUORUM) as unknown }],
    })
  })

  test('do not fill the error with their own text', async () => {
    const many = Array.from({ length: 1_000 }, () => listed()[0])
    const text = 'x'.repeat(100_000)
    const responses = [many, listed({ ...EPOCH, epoch: text }, ACCOUNTS[0]), { title: 'x', detail: text }]
    const operators = await Promise.all(
      responses.map((body, i) =>
        operatorOf((response) => {
          response.statusCode = i === 2 ? 500 : 200
          response.end(JSON.stringify(body))
        }),
      ),
    )
    const { message, dissent } = await named(operators, 2, ACCOUNTS[0]).then(
      () => expect.unreachable(),
      (error: QuorumError) => error,
    )
    expect(message).toContain('997 more')
    expect(message.length).toBeLessThan(2_000)
    expect(dissent).toHaveLength(3)
  })

  test('are read despite values that are no quorums or epochs', async () => {
    const [quorum] = listed()
    const body = [null, 5, { ...quorum, epochs: [null, EPOCH, null] }, null]
    const operator = await operatorOf((response) => response.end(JSON.stringify(body)))
    expect(await named([operator], 1)).toMatchObject({ quorum: QUORUM, epoch: EPOCH })
  })

  test('are read by a custom fetch without web streams', async () => {
    const custom = async (...request: Parameters<typeof fetch>) => {
      const response = await fetch(...request)
      return Object.defineProperty(response.clone(), 'body', {
        value: Readable.fromWeb(response.body as never),
      })
    }
    const { url } = await operatorOf((response) => response.end(JSON.stringify(listed())))
    const operator = new Operator(url, { url, fetch: custom })
    expect(await named([operator], 1)).toMatchObject({ quorum: QUORUM, epoch: EPOCH })
  })

  test('may respond for as long as the question may take', async () => {
    vi.useFakeTimers()
    const slow = (_: unknown, init?: RequestInit) =>
      new Promise<Response>((resolve, reject) => {
        init!.signal!.addEventListener('abort', () => reject(init!.signal!.reason as Error))
        setTimeout(() => resolve(Response.json({ index: 0 })), 90_000)
      })
    const operator = new Operator('http://one', { url: 'http://x', fetch: slow })
    const signed = operator.sign('{}', new AbortController().signal)
    const [seen] = await Promise.all([signed.catch((error: unknown) => error), vi.runAllTimersAsync()])
    expect(seen).toEqual({ index: 0 })
  })

  test('count as unreachable if their response does not end', async () => {
    let sent = 0
    const endless = () =>
      operatorOf((response) => {
        const part = Buffer.alloc(65_536, ' ')
        const more = () => {
          if (response.destroyed) return
          sent += part.length
          response.write(part, more)
        }
        more()
      })
    const operators = [await endless(), await endless()]
    await expect(named(operators, 1)).rejects.toMatchObject({
      name: 'QuorumError',
      dissent: operators.map(({ url }) => expect.objectContaining({ url, reason: 'unreachable' }) as unknown),
    })
    expect(sent).toBeLessThan(100_000_000)
  })
})
