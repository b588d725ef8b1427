// SPDX-License-Identifier: MIT
import { afterEach, describe, expect, test, vi } from 'vitest'
import { recordsOf, type RecordEvent, type StreamOptions } from './records'

/** Streams these connections, each a list of chunks, and leaves at the end of the last one. */
async function streamed(connections: readonly (readonly (string | Uint8Array<ArrayBuffer>)[])[]) {
  const leaving = new AbortController()
  const asked: (string | null)[] = []
  const events: RecordEvent[] = []
  const positions: string[] = []
  const records = recordsOf('https://geo.example', async ({ headers }) => {
    const chunks = [...connections[asked.push(headers.get('last-event-id')) - 1]!]
    const body = new ReadableStream({
      pull: (controller) => {
        const chunk = chunks.shift()
        if (chunk !== undefined)
          return controller.enqueue(typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk)
        if (asked.length === connections.length) leaving.abort()
        controller.close()
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  })
  const options: StreamOptions = { signal: leaving.signal, onPosition: (id) => positions.push(id) }
  for await (const event of records.stream(options)) events.push(event)
  return { asked, events, positions }
}

test('a list of records ends with an error if its pages are empty or malformed', async () => {
  const sameAgain = { data: [{}], next_cursor: 'a' }
  for (const page of [
    { data: [], next_cursor: 'a' },
    sameAgain,
    { data: null, next_cursor: null },
    {},
    null,
  ]) {
    let asked = 0
    const records = recordsOf('https://geo.example', async () => {
      if (asked++ > 9) throw new Error('asked again and again')
      return Response.json(page)
    })
    const readAll = async () => {
      for await (const _ of records.list());
    }
    await expect(readAll()).rejects.toMatchObject({ name: 'ServiceVersionError' })
  }
})

describe('a stream', () => {
  afterEach(() => void vi.useRealTimers())

  test('resumes at the position of a comment', async () => {
    // The pauses before it reconnects take no time.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }).setTimerTickMode('nextTimerAsync')
    const { asked, positions } = await streamed([
      ['retry: 3000\n\n', ':\nid: e,base.1\n\n', ':\nid: e,base.2\n\n'],
      [':\n\n', ':\nid: cut'],
      [],
    ])
    expect(asked).toEqual([null, 'e,base.2', 'e,base.2'])
    expect(positions).toEqual(['e,base.1', 'e,base.2'])
  })

  test.each(['\n', '\r\n', '\r'])('reads lines that end with %j and are cut anywhere', async (end) => {
    const gone = { uid: '0xé', chain: 'base' }
    const lines = [
      '\u{FEFF}retry: 3000\n',
      ':\nid: 1\n',
      `event: reorged\nid: 2\ndata: ${JSON.stringify(gone)}\n`,
      'id:3\nevent:reset\ndata:{"reason":\ndata: "a: b"}\n',
      'event: other\ndata\nid\n',
      ':\nid: 4\n\n:',
    ]
    const bytes = new TextEncoder().encode(lines.join('\n').replaceAll('\n', end))
    const cuts = [...bytes.keys()].map((at) => [bytes.slice(0, at), bytes.slice(at)])
    for (const chunks of [[...bytes].map((byte) => Uint8Array.of(byte)), ...cuts]) {
      const { events, positions } = await streamed([chunks])
      expect(events).toEqual([
        { id: '2', kind: 'reorged', gone },
        { id: '3', kind: 'reset', reason: 'a: b' },
      ])
      expect(positions).toEqual(['1', '2', '3', '4'])
    }
  })

  test('rejects a position that no header holds, instead of connecting again and again', async () => {
    const dropped = vi.fn()
    const records = recordsOf('https://geo.example', async () => new Response())
    const stream = records.stream({ after: '\u2018e,base.1\u2019', onDrop: dropped })[Symbol.asyncIterator]()
    await expect(stream.next()).rejects.toMatchObject({ name: 'InvalidInputError', detail: /^after: / })
    expect(dropped).not.toHaveBeenCalled()
  })

  test.each(['onOpen', 'onPosition', 'onDrop'])('ends with the error that %s throws', async (name) => {
    const mistake = new Error('disk full')
    const [asked, dropped] = [vi.fn(), vi.fn()]
    const records = recordsOf('https://geo.example', async () => {
      asked()
      return new Response(':\nid: 1\n\n', { headers: { 'content-type': 'text/event-stream' } })
    })
    const thrower = vi.fn(() => {
      throw mistake
    })
    const stream = records.stream({ onDrop: dropped, [name]: thrower })[Symbol.asyncIterator]()
    await expect(stream.next()).rejects.toBe(mistake)
    expect(asked).toHaveBeenCalledOnce()
    expect(thrower).toHaveBeenCalledOnce()
    expect(dropped).not.toHaveBeenCalled()
  })
})
