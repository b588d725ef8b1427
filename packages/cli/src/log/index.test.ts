// SPDX-License-Identifier: MIT
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { MemoryLog, seededKey } from '../../../../test/tlog'
import { formatNote, formatVerifierKey, signNote } from '../../../../src/tlog'
import { EXIT } from '../exit'
import { geoHere } from '../../test/here'

const folder = mkdtempSync(path.join(tmpdir(), 'geo-proof-'))
afterAll(() => rmSync(folder, { recursive: true }))
afterEach(() => void vi.unstubAllGlobals())

let stop: AbortController
function geo(...argv: string[]) {
  stop = new AbortController()
  return geoHere(argv, { signal: stop.signal, cwd: folder })
}

test('geo log proof prints the proof of each operator that signed, although one does not respond', async () => {
  const asked: string[] = []
  vi.stubGlobal('fetch', async (input: Request | string) => {
    const { host, pathname } = new URL(input instanceof Request ? input.url : input)
    if (host === 'two') throw new Error('unreachable')
    asked.push(host + pathname)
    return new Response(`proof of ${host}\n`)
  })
  const operators = ['one', 'two', 'three'].map((name, index) => ({
    ...{ url: `http://${name}`, index, operator: '0x' },
    log: { origin: name, leaf: `${index}`.repeat(64), by: 1 },
  }))
  const answer = { chainId: 1, quorum: '0x1', signers: '0x7', signatures: '0x1', answer: {}, operators }
  writeFileSync(path.join(folder, 'answer.json'), JSON.stringify(answer))
  const { code, stdout } = await geo('log', 'proof', 'answer.json', '--url', 'http://own')
  expect([code, stdout]).toEqual([EXIT.unreachable, 'proof of one\nproof of three\n'])
  expect(asked).toEqual([`one/log/v0/proof/${'0'.repeat(64)}`, `three/log/v0/proof/${'2'.repeat(64)}`])
  writeFileSync(path.join(folder, 'old.json'), JSON.stringify({ ...answer, operators: undefined }))
  expect((await geo('log', 'proof', 'old.json', '--url', 'http://own')).code).toBe(EXIT.usage)
  // A reverse proxy may rewrite the seconds of Retry-After as a date.
  const headers = { 'retry-after': new Date(Date.now() + 60_000).toUTCString() }
  const unavailable = { status: 'error', message: 'The database is unreachable.' }
  vi.stubGlobal('fetch', async () => Response.json(unavailable, { status: 503, headers }))
  expect((await geo('log', 'proof', 'a'.repeat(64), '--url', 'http://own')).code).toBe(EXIT.unreachable)
})

test('geo log monitor reports a service that does not run, and a policy file that does not exist', async () => {
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('fetch failed', { cause: new Error('refused') })))
  const { code, stderr } = await geo('log', 'monitor', '--once', '--url', 'http://own')
  expect([code, stderr]).toEqual([EXIT.unreachable, expect.stringMatching(/refused.*Check that the service/)])
  const missing = await geo('log', 'monitor', '--once', '--log-policy', 'none.txt', '--url', 'http://own')
  expect([missing.code, missing.stderr]).toEqual([
    EXIT.usage,
    expect.stringContaining("File not found: 'none.txt'"),
  ])
})

test('geo log monitor requires the cosignatures of the policy that the service publishes', async () => {
  const log = new MemoryLog(await seededKey('own/log/v0', 'ed25519', 1))
  await log.append(Buffer.from('an entry')).sign()
  const witness = formatVerifierKey(await seededKey('w.example', 'cosignature', 2))
  const policy = `log ${formatVerifierKey(log.key)}\nwitness w ${witness}\nquorum w\n`
  const start = Date.now()
  const clock = vi.spyOn(Date, 'now')
  /** Kinds of the alarms of a monitor that starts with a state, and reads the log at these seconds. */
  const alarms = async (state: object, ...reads: (number | 'outage')[]) => {
    const times = reads.values()
    clock.mockReturnValue(start)
    vi.stubGlobal('fetch', async (input: Request | string) => {
      const { pathname } = new URL(input instanceof Request ? input.url : input)
      if (pathname === '/log/v0/') return Response.json({ policy })
      if (pathname === '/') return Response.json({ chains: [], defaultSchemas: {} })
      if (pathname === '/log/v0/checkpoint') {
        const { value: time, done } = times.next()
        if (done) stop.abort()
        if (typeof time !== 'number') throw new TypeError('fetch failed')
        clock.mockReturnValue(start + time * 1000)
      }
      return new Response(new Uint8Array(log.read(pathname.replace('/log/v0/', ''))!))
    })
    writeFileSync(path.join(folder, 'state.json'), JSON.stringify({ version: 3, raised: [], ...state }))
    const { stdout } = await geo(
      ...['log', 'monitor', '--every', '0', '--json', '--state', 'state.json', '--url', 'http://own'],
    )
    return stdout.split('\n').flatMap((line) => (line ? (JSON.parse(line) as { kind: string }).kind : []))
  }
  const now = Math.floor(start / 1000)
  try {
    expect(await alarms({}, 0, 60, 61)).toEqual(['quorum'])
    expect(await alarms({}, 0, 600)).toEqual(['quorum'])
    expect(await alarms({}, 0, 'outage', 50, 'outage', 100)).toEqual(['quorum'])
    expect(await alarms({}, 0, 'outage', 600)).toEqual([])
    expect(await alarms({}, 0, 'outage', 600, 661)).toEqual(['quorum'])
    expect(await alarms({ weakSince: now - 600, faultyAt: now - 30 }, 0)).toEqual(['quorum'])
    expect(await alarms({ weakSince: now - 600, faultyAt: now - 600 }, 0)).toEqual([])
    expect(await alarms({}, 0, 61)).toEqual(['quorum'])
    const state = JSON.parse(readFileSync(path.join(folder, 'state.json'), 'utf8')) as object
    expect(await alarms(state, 600, 661)).toEqual([])
  } finally {
    clock.mockRestore()
  }
})

test('geo log monitor follows the log of the service if a policy has several', async () => {
  const names = ['one', 'two']
  const logs = names.map(async (name, at) => {
    const log = new MemoryLog(await seededKey(name, 'ed25519', at))
    await log.append(...names.slice(at).map((each) => Buffer.from(each))).sign()
    return log
  })
  const [one, two] = (await Promise.all(logs)) as [MemoryLog, MemoryLog]
  const witness = formatVerifierKey(await seededKey('w.example', 'cosignature', 2))
  const lines = [one, two].map(({ key }) => `log ${formatVerifierKey(key)}\n`).join('')
  writeFileSync(path.join(folder, 'both.policy'), `${lines}witness w ${witness} http://w\nquorum none\n`)
  let origin = 'two'
  vi.stubGlobal('fetch', async (input: Request | string) => {
    const { host, pathname } = new URL(input instanceof Request ? input.url : input)
    if (pathname === '/log/v0/') return Response.json({ origin })
    if (pathname === '/') return Response.json({ chains: [], defaultSchemas: {} })
    const content =
      host === 'w'
        ? (pathname.startsWith('/two') ? two : one).read('checkpoint')
        : two.read(pathname.replace('/log/v0/', ''))
    return content ? new Response(new Uint8Array(content)) : new Response('', { status: 404 })
  })
  const monitor = ['log', 'monitor', '--once', '--json', '--log-policy', 'both.policy', '--url', 'http://own']
  const { code, stdout } = await geo(...monitor)
  const alarm = { kind: 'entry', origin: 'two' }
  expect([code, JSON.parse(stdout)]).toEqual([EXIT.no, expect.objectContaining(alarm)])
  origin = 'three'
  expect((await geo(...monitor)).code).toBe(EXIT.usage)
  // A reverse proxy may respond while the service is unavailable.
  const outages = [
    () => new Response('', { status: 404 }),
    () => Promise.reject(new TypeError('fetch failed')),
    () => new Response('<html>'),
    () => Response.json(null),
  ]
  const { fetch } = globalThis
  let reads = 0
  vi.stubGlobal('fetch', async (input: Request | string) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input)
    if (pathname === '/log/v0/') return outages[reads++]?.() ?? Response.json({ origin: 'two' })
    if (reads > outages.length) stop.abort()
    return fetch(input)
  })
  expect([(await geo(...monitor)).code, reads]).toEqual([EXIT.unreachable, 1])
  const following = monitor.filter((each) => each !== '--once')
  expect((await geo(...following, '--every', '0')).code).toBe(EXIT.interrupted)
  expect(reads).toBe(outages.length + 1)
})

test('geo log monitor keeps the state of a run that has read a larger tree meanwhile', async () => {
  const log = new MemoryLog(await seededKey('own/log/v0', 'ed25519', 1))
  await log.append(Buffer.from('one')).sign()
  writeFileSync(path.join(folder, 'own.policy'), `log ${formatVerifierKey(log.key)}\nquorum none\n`)
  let meanwhile = async () => {}
  vi.stubGlobal('fetch', async (input: Request | string) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input)
    if (pathname === '/log/v0/') return Response.json({ origin: 'own/log/v0' })
    if (pathname === '/') return Response.json({ chains: [], defaultSchemas: {} })
    const content = log.read(pathname.replace('/log/v0/', ''))
    const response = content ? new Response(new Uint8Array(content)) : new Response('', { status: 404 })
    const once = meanwhile
    meanwhile = async () => {}
    if (pathname.endsWith('checkpoint')) await once()
    else meanwhile = once
    return response
  })
  const options = ['--state', 'overlapping.json', '--log-policy', 'own.policy', '--url', 'http://own']
  const run = () => geo('log', 'monitor', '--once', ...options)
  const sizes: string[] = []
  const size = () => {
    const state: unknown = JSON.parse(readFileSync(path.join(folder, 'overlapping.json'), 'utf8'))
    sizes.push((state as { checkpoint: string }).checkpoint.split('\n')[1]!)
  }
  meanwhile = async () => {
    await log.append(Buffer.from('two')).sign()
    await run()
    size()
  }
  await run()
  size()
  await log.append(Buffer.from('three')).sign()
  await run()
  size()
  expect(sizes).toEqual(['2', '2', '3'])
})

test('geo log monitor raises an alarm for an older checkpoint only if it is served for a minute', async () => {
  const log = new MemoryLog(await seededKey('own', 'ed25519', 1))
  await log.sign()
  const older = log.note
  await log.append(Buffer.from('an entry')).sign()
  const newest = log.note
  writeFileSync(path.join(folder, 'log.policy'), `log ${formatVerifierKey(log.key)}\nquorum none\n`)
  const state = {
    ...{ version: 3, raised: [], checkpoint: formatNote(newest) },
    ...{ behindSince: undefined as unknown, faultyAt: undefined as unknown },
  }
  let reads = 0
  vi.stubGlobal('fetch', async (input: Request | string) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input)
    if (pathname === '/') return Response.json({ chains: [], defaultSchemas: {} })
    if (pathname === '/log/v0/checkpoint') log.note = reads++ === 0 || state.behindSince ? older : newest
    return new Response(new Uint8Array(log.read(pathname.replace('/log/v0/', ''))!))
  })
  const monitor = async (earlier = {}) => {
    writeFileSync(path.join(folder, 'older.json'), JSON.stringify({ ...state, ...earlier }))
    const { code, stdout } = await geo(
      ...['log', 'monitor', '--once', '--json', '--every', '0', '--log-policy', 'log.policy'],
      ...['--state', 'older.json', '--url', 'http://own'],
    )
    return [code, stdout && (JSON.parse(stdout) as { kind: string }).kind]
  }
  expect([...(await monitor()), reads]).toEqual([EXIT.done, '', 2])
  state.behindSince = 1
  state.faultyAt = Math.floor(Date.now() / 1000)
  expect(await monitor()).toEqual([EXIT.no, 'rollback'])
  state.faultyAt = 1
  const raised = ['rollback: since 1']
  expect(await monitor({ raised })).toEqual([EXIT.no, ''])
})

test('geo log monitor reports a witness that has cosigned the tree and serves no checkpoint', async () => {
  const log = new MemoryLog(await seededKey('own', 'ed25519', 1))
  await log.sign()
  const witness = await seededKey('w.example', 'cosignature', 2)
  const policy = `log ${formatVerifierKey(log.key)}\nwitness w ${formatVerifierKey(witness)} http://w\nquorum none\n`
  writeFileSync(path.join(folder, 'log.policy'), policy)
  vi.stubGlobal('fetch', async (input: Request | string) => {
    const { host, pathname } = new URL(input instanceof Request ? input.url : input)
    if (host === 'w') return new Response('404 page not found', { status: 404 })
    if (pathname === '/') return Response.json({ chains: [], defaultSchemas: {} })
    return new Response(new Uint8Array(log.read('checkpoint')!))
  })
  const monitor = async () => {
    const { code, stdout, stderr } = await geo(
      ...['log', 'monitor', '--once', '--json', '--log-policy', 'log.policy', '--url', 'http://own'],
      ...['--metrics', 'witness.prom'],
    )
    const metrics = readFileSync(path.join(folder, 'witness.prom'), 'utf8')
    const isCounted = metrics.includes('geo_log_monitor_failures_total{part="witness"} 1')
    return [code, stdout, stderr.includes('Witness w:'), isCounted]
  }
  // The witness may not know the log.
  expect(await monitor()).toEqual([EXIT.done, '', false, false])
  log.note.signatures.push(await signNote(log.note.text, witness, 1))
  expect(await monitor()).toEqual([EXIT.done, '', true, true])
})

test('geo log monitor raises no alarm for the responses of a reverse proxy', async () => {
  const log = new MemoryLog(await seededKey('own', 'ed25519', 1))
  await log.append(Buffer.from('an entry')).sign()
  writeFileSync(path.join(folder, 'log.policy'), `log ${formatVerifierKey(log.key)}\nquorum none\n`)
  const plain = () => new Response('404 page not found', { status: 404 })
  const own = () => Response.json({ message: 'Not found' }, { status: 404 })
  const page = () => new Response('<html>', { headers: { 'content-type': 'text/html' } })
  const monitor = ['log', 'monitor', '--once', '--json', '--log-policy', 'log.policy', '--url', 'http://own']
  for (const [file, respond] of [
    ...['checkpoint', 'tile/entries/000.p/1'].flatMap((file) => [
      [file, plain] as const,
      [file, page] as const,
    ]),
    ['checkpoint', own],
  ] as const) {
    vi.stubGlobal('fetch', async (input: Request | string) => {
      const { pathname } = new URL(input instanceof Request ? input.url : input)
      if (pathname === '/') return Response.json({ chains: [], defaultSchemas: {} })
      const content = pathname !== `/log/v0/${file}` && log.read(pathname.replace('/log/v0/', ''))
      return content ? new Response(new Uint8Array(content)) : respond()
    })
    const { code, stdout } = await geo(...monitor)
    expect([file, code, stdout]).toEqual([file, EXIT.unreachable, ''])
  }
})

test('geo log monitor reads the service again after a response that is a page', async () => {
  const log = new MemoryLog(await seededKey('own', 'ed25519', 1))
  await log.append().sign()
  const policy = `log ${formatVerifierKey(log.key)}\nquorum none\n`
  let reads = 0
  vi.stubGlobal('fetch', async (input: Request | string) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input)
    if (pathname === '/log/v0/') return Response.json({ policy })
    if (pathname === '/') return new Response('<html>', { headers: { 'content-type': 'text/html' } })
    if (++reads > 2) stop.abort()
    return new Response(new Uint8Array(log.read('checkpoint')!))
  })
  const { code } = await geo('log', 'monitor', '--every', '0', '--url', 'http://own')
  expect([code, reads]).toEqual([EXIT.interrupted, 3])
})
