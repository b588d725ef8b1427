import { existsSync, readFileSync } from 'node:fs'
import { createServer, request as forward, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Wallet, id, zeroPadValue } from 'ethers'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createGeo } from '@geospatial-attestation/client'
import { mined, type LocalChain } from '../../../dev/chain'
import { NUMERIC_RESULT_FIELDS, schemaUid } from '../../../src/eas'
import { hunt } from '../../../test/seed'
import { startTestWorld, type TestWorld } from '../../../test/world'
import { openShell, type Ended, type Shell } from './geo'

/** `geo batch`: questions of a file, over refusals, outages and kills; each lands once. */
let world: TestWorld
let shell: Shell
beforeAll(async () => {
  // Their blocks come when a test says so; EAS 0.26 knows no deadlines.
  world = await startTestWorld({ CHAINS: 'base-sepolia,sepolia' })
  shell = openShell(world, { GEO_KEY_FILE: 'key.txt' })
})
afterAll(async () => {
  shell?.close()
  await world?.stop()
})

let files = 0
/** A file of questions; its name without its ending. */
function questions(lines: readonly (object | string)[]): string {
  const name = `questions-${++files}`
  shell.write(
    `${name}.ndjson`,
    lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
  )
  return name
}
const distances = (count: number, more: object = {}) =>
  Array.from({ length: count }, (_, i) => ({ operation: 'distance', from: `${i},1`, to: '1,2', ...more }))
const rows = (text: string): any[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
const rowsOf = (file: string) => rows(readFileSync(path.join(shell.folder, file), 'utf8'))

/** Attestations of a chain for a recipient: their payloads. */
async function attested({ chain, provider }: LocalChain, recipient: string): Promise<string[]> {
  const topics = [id('Attested(address,address,bytes32,bytes32)'), zeroPadValue(recipient, 32)]
  const logs = await provider.getLogs({ address: chain.eas, topics, fromBlock: chain.firstBlock })
  const eas = await world.chains.get(chain.slug)!.eas()
  return Promise.all(
    logs.map(async ({ data }) => (await eas.getFunction('getAttestation')(data)).data as string),
  )
}

const servers: Server[] = []
afterEach(() => servers.splice(0).forEach((server) => server.close()))
/** The service behind a door that counts batches, and can be shut. */
async function door(): Promise<{ url: string; batches: number; shutAfter: number; holds: boolean }> {
  const seen = { url: '', batches: 0, shutAfter: Infinity, holds: false }
  const server = createServer((request, response) => {
    if (request.url === '/compute/v0/batch' && ++seen.batches > seen.shutAfter)
      return seen.holds || request.socket.destroy()
    const { method, headers } = request
    const onward = forward(world.url + request.url!, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(response)
    })
    request.pipe(onward)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  seen.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return seen
}

describe('answers', () => {
  test('stand in the order of the lines; a wrong line is an error on its line', async () => {
    const place = { type: 'Point', coordinates: [1, 2] }
    const wrong: [object | string, RegExp][] = [
      ['nonsense', /^The line is no question: expected a JSON object such as/],
      [
        { operation: 'distance', from: `0x${'ab'.repeat(32)}`, to: '1,2' },
        /^Attestation Not Found: from: there is no/,
      ],
      [{ operation: 'area', geometry: place }, /^Invalid Input: geometry: area is that of a Polygon/],
      [{ operation: 'volume', geometry: place }, /^Invalid Input: operation: expected one of/],
      [{ operation: 'distance', from: '1,2', to: 'key.txt' }, /^to: expected lng,lat, a UID/],
      [{ operation: 'distance', from: '1,2', to: '2,2', chain: 'mars' }, /The service has no chain mars/],
      [{ operation: 'distance', from: '1,2', to: '2,2', nope: 1 }, /nope: unknown field/],
    ]
    const lines: (object | string)[] = distances(30)
    lines.splice(5, 0, ...wrong.map(([line]) => line), '')
    lines.push({ operation: 'distance', from: place, to: '3,4', chain: 'sepolia', id: 'mine' })
    const name = questions(lines)
    const { code, stdout, stderr } = await shell.geo(['batch', `${name}.ndjson`, '--chain', 'base-sepolia'])
    expect([code, stderr]).toEqual([1, '31 answered, 7 refused\n'])
    const answers = rows(stdout)
    // An empty line is none, and counts.
    expect(answers.map(({ line }) => line)).toEqual([
      ...Array.from({ length: 12 }, (_, i) => i + 1),
      ...Array.from({ length: 26 }, (_, i) => i + 14),
    ])
    wrong.forEach(([, text], i) => expect(answers[5 + i].error.message).toMatch(text))
    expect(answers.at(-1)).toMatchObject({ id: 'mine', answer: { chainId: 11155111, result: 313588.4 } })
    for (const { line, answer } of answers.filter((row) => row.answer && !row.id)) {
      const i = line <= 5 ? line - 1 : line - 9
      const alone = await world.post('/compute/v0/distance', {
        ...{ chainId: 84532, from: { type: 'Point', coordinates: [i, 1] }, to: place },
      })
      expect([line, answer.result, answer.chainId]).toEqual([line, alone.body.result, 84532])
    }
    const ofStdin = await shell.geo(['batch', '-', '-q'], { stdin: JSON.stringify(lines[0]) })
    expect(ofStdin).toMatchObject({ code: 0, stderr: '' })
    expect(rows(ofStdin.stdout)[0].answer.result).toBe(answers[0].answer.result)
  })

  test('none of an empty file, which is said', async () => {
    const name = questions(['', ' '])
    expect(await shell.geo(['batch', `${name}.ndjson`])).toEqual({
      ...{ code: 0, stdout: '' },
      stderr: `'${name}.ndjson' has no questions.\n0 answered, 0 refused\n`,
    })
  })

  test('20 are asked at once; a run that was stopped goes on, and one that is done asks nothing', async () => {
    const service = await door()
    const name = questions(distances(90))
    const run = () =>
      shell.geo(['batch', `${name}.ndjson`, '-o', `${name}.out`, '--url', service.url, '--chain', '84532'])
    service.shutAfter = 2
    const stopped = await run()
    expect(stopped).toMatchObject({ code: 4, stdout: '' })
    expect(stopped.stderr).toMatch(
      /^Stopped after 40 of 90 lines; run it again to go on from here\.\ngeo: .* does not answer/,
    )
    expect(rowsOf(`${name}.out`)).toHaveLength(40)
    const before = rowsOf(`${name}.out`)
    Object.assign(service, { shutAfter: Infinity, batches: 0 })
    expect(await run()).toMatchObject({ code: 0, stderr: `90 answered, 0 refused, in ${name}.out\n` })
    expect(service.batches).toBe(3)
    const answers = rowsOf(`${name}.out`)
    expect(answers.map(({ line }) => line)).toEqual(Array.from({ length: 90 }, (_, i) => i + 1))
    expect(answers.slice(0, 40)).toEqual(before)
    expect(await run()).toMatchObject({ code: 0 })
    expect([service.batches, rowsOf(`${name}.out`)]).toEqual([3, answers])
    // A new line is asked, wherever it stands; the others keep their answers.
    const more = [{ operation: 'distance', from: '9,9', to: '1,2' }, ...distances(90)]
    shell.write(`${name}.ndjson`, more.map((line) => JSON.stringify(line)).join('\n'))
    expect(await run()).toMatchObject({ code: 0 })
    expect(service.batches).toBe(4)
    expect(
      rowsOf(`${name}.out`)
        .slice(1)
        .map(({ answer }) => answer),
    ).toEqual(answers.map(({ answer }) => answer))
  })

  test('Ctrl-C ends it, and it can go on', async () => {
    const service = Object.assign(await door(), { shutAfter: 2, holds: true })
    const name = questions(distances(50))
    const args = ['batch', `${name}.ndjson`, '-o', `${name}.out`, '--url', service.url, '--chain', '84532']
    const running = shell.start(args)
    await expect.poll(() => service.batches).toBe(3)
    await expect
      .poll(() => existsSync(path.join(shell.folder, `${name}.out`)) && rowsOf(`${name}.out`).length)
      .toBe(40)
    running.child.kill('SIGINT')
    expect(await running.ended).toEqual({
      ...{ code: 130, stdout: '' },
      stderr: 'Stopped after 40 of 50 lines; run it again to go on from here.\n',
    })
    Object.assign(service, { shutAfter: Infinity, batches: 0 })
    expect((await shell.geo(args)).code).toBe(0)
    expect(service.batches).toBe(1)
  })

  test('a file that is no output of it is left alone, and so is one that another process works on', async () => {
    const name = questions(distances(1))
    shell.write('mine.txt', 'mine')
    const args = (file: string) => ['batch', `${name}.ndjson`, '-o', file]
    expect(await shell.geo(args('mine.txt'))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('name another file'),
    })
    expect(readFileSync(path.join(shell.folder, 'mine.txt'), 'utf8')).toBe('mine')
    shell.write('other.out.journal', '{"some":"thing"}\n')
    expect(await shell.geo(args('other.out'))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no journal of this version'),
    })
    shell.write('locked.out.journal.lock', String(process.pid))
    expect(await shell.geo(args('locked.out'))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`process ${process.pid}`),
    })
    // Of a process that is gone.
    shell.write('locked.out.journal.lock', '999999999')
    expect((await shell.geo(args('locked.out'))).code).toBe(0)
    expect(existsSync(path.join(shell.folder, 'locked.out.journal.lock'))).toBe(false)
  })
})

describe('landing', () => {
  const land = (name: string, recipient: string, submission: string, chain = 'base-sepolia') => [
    ...['batch', `${name}.ndjson`, '-o', `${name}.out`, '--land', '--recipient', recipient],
    ...['--submission', submission, '--chain', chain],
  ]
  /** What a batch of `count` lines must have left behind. */
  async function landedOnce(
    name: string,
    count: number,
    chain: LocalChain,
    recipient: string,
  ): Promise<void> {
    const answers = rowsOf(`${name}.out`)
    expect(answers).toHaveLength(count)
    const payloads = await attested(chain, recipient)
    expect(payloads).toHaveLength(count)
    expect(new Set(payloads)).toEqual(new Set(answers.map(({ answer }) => answer.attestation.data)))
    const eas = await chain.eas()
    for (const { answer, landed } of answers)
      expect((await eas.getFunction('getAttestation')(landed.uid)).data).toBe(answer.attestation.data)
  }

  test.each(['direct', 'proxy'])(
    '%s: 20 in a transaction, and nothing when it is run again',
    async (submission) => {
      const name = questions(distances(25))
      const recipient = Wallet.createRandom().address
      const { code, stderr } = await shell.geo(land(name, recipient, submission))
      expect([code, stderr.match(/^Sent: /gm)]).toEqual([0, ['Sent: ', 'Sent: ']])
      await landedOnce(name, 25, world.chain, recipient)
      const again = await shell.geo(land(name, recipient, submission))
      expect(again).toMatchObject({ code: 0, stderr: `25 answered, 0 refused, in ${name}.out\n` })
      await landedOnce(name, 25, world.chain, recipient)
    },
  )

  test('answers of a run without --land land in a later one', async () => {
    const name = questions(distances(3))
    const recipient = Wallet.createRandom().address
    const args = land(name, recipient, 'proxy')
    await shell.geo(args.filter((word) => word !== '--land'))
    const answers = rowsOf(`${name}.out`).map(({ answer }) => answer)
    expect((await shell.geo(args)).code).toBe(0)
    await landedOnce(name, 3, world.chain, recipient)
    expect(rowsOf(`${name}.out`).map(({ answer }) => answer)).toEqual(answers)
  })

  test('a batch in a file: one value a line for landing it and for verifying it', async () => {
    const geo = createGeo({ url: world.url, chain: 84532 })
    const point = (lng: number) => ({ type: 'Point' as const, coordinates: [lng, 1] })
    const batch = await geo.batch(
      [1, 2].map((lng) => ({ operation: 'distance', from: point(lng), to: point(9) })),
      { submission: 'proxy' },
    )
    shell.write('batch.json', JSON.stringify(batch))
    const landed = await shell.geo(['land', 'batch.json', '--json'])
    expect([landed.code, rows(landed.stdout)]).toEqual([
      0,
      [1, 2].map(() => expect.objectContaining({ chainId: 84532, already: false })),
    ])
    const verified = await shell.geo(['verify', 'batch.json', '--json'])
    expect(rows(verified.stdout).map(({ landed: { uid } }) => uid)).toEqual(
      rows(landed.stdout).map(({ uid }) => uid),
    )
  })

  test.each(['direct', 'proxy'])('%s: killed while a transaction is under way', async (submission) => {
    const chain = world.chain
    const name = questions(distances(21))
    const recipient = Wallet.createRandom().address
    const args = land(name, recipient, submission)
    await chain.provider.send('evm_setAutomine', [false])
    try {
      const killed = shell.start(args)
      const [hash] = /0x\w{64}/.exec(await killed.until('stderr', /Sent: transaction 0x\w{64}/))!
      killed.child.kill('SIGKILL')
      await killed.ended
      expect(await attested(chain, recipient)).toEqual([])
      // The next run finds it in no block. Its node sees that the same call would fail after that one.
      expect(await shell.geo(args)).toMatchObject({
        code: 5,
        stderr: expect.stringMatching(/\ngeo: The wallet .*: Execution reverted/),
      })
      await chain.provider.send('anvil_mine', ['0x1'])
      await mined(chain, hash)
    } finally {
      await chain.provider.send('evm_setAutomine', [true])
    }
    expect(await shell.geo(args)).toMatchObject({ code: 0 })
    await landedOnce(name, 21, chain, recipient)
  })

  hunt('killed at any moment, while others take the nonces', 1, async ({ random, cases }) => {
    const chain = world.chains.get('sepolia')!
    const name = questions(distances(50))
    const recipient = Wallet.createRandom().address
    const args = land(name, recipient, 'direct', 'sepolia')
    shell.write('other.txt', `${Wallet.createRandom().privateKey}\n`, 0o600)
    let ended: Ended | undefined
    let kills = 0
    for (; ended?.code !== 0; kills++) {
      expect(kills).toBeLessThan(60 + cases)
      const run = shell.start(args)
      const other = shell.start(['distance', '5,5', '6,6', '--chain', 'sepolia', '--land', '-q'])
      // At a step, or a moment after it; in the end it may go on to its end.
      if (kills < 2) await run.until('stderr', /Sent|Signed anew/)
      else if (kills < 2 + cases) await Promise.race([run.ended, pause(2_000 * random())])
      else await run.ended
      run.child.kill('SIGKILL')
      ended = await run.ended
      await other.ended
      expect([0, null], ended.stderr).toContain(ended.code)
    }
    expect(kills).toBeGreaterThan(1)
    await landedOnce(name, 50, chain, recipient)
  })

  test('an answer that a contract refuses does not keep the others from landing', async () => {
    const chain = world.chain
    // A resolver that refuses everything: it returns false.
    const resolver = Wallet.createRandom().address
    await chain.provider.send('anvil_setCode', [resolver, '0x600060005260206000f3'])
    const registry = await chain.registry()
    await mined(
      chain,
      (await registry.getFunction('register').send(NUMERIC_RESULT_FIELDS, resolver, true)).hash,
    )
    const schema = schemaUid(NUMERIC_RESULT_FIELDS, resolver, true)
    const lines = distances(6)
    lines[3] = { ...lines[3]!, schema } as never
    const name = questions(lines)
    const recipient = Wallet.createRandom().address
    const { code, stderr } = await shell.geo(land(name, recipient, 'direct'))
    expect([code, stderr]).toEqual([1, expect.stringContaining('5 answered, 1 refused')])
    const answers = rowsOf(`${name}.out`)
    expect(answers[3].error.message).toMatch(
      /^The answer did not land: the contract refuses it with InvalidAttestation/,
    )
    expect(await attested(chain, recipient)).toHaveLength(5)
    expect(answers.filter(({ landed }) => landed)).toHaveLength(5)
  })
})
