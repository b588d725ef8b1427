// SPDX-License-Identifier: MIT
import { existsSync, readFileSync } from 'node:fs'
import { request as forward } from 'node:http'
import path from 'node:path'
import { Wallet } from 'ethers'
import { beforeAll, describe, expect, test } from 'vitest'
import { createGeo } from '@geospatial-attestation/client'
import { registerSchema } from '../../../dev/chain'
import { NUMERIC_RESULT_FIELDS } from '../../../src/eas'
import { serve } from '../../../test/http-server'
import { startTestWorld, type TestWorld } from '../../../test/world'
import { batchesOf, distances, land, rows, type Batches } from './batch'
import { openShell, type Shell } from './geo'

/** Tests `geo batch` with rejected questions, outages and crashes. Each answer must land exactly once. */
let world: TestWorld
let shell: Shell
let batches: Batches
beforeAll(async () => {
  // A test can control when blocks are mined. EAS 0.26 has no deadlines.
  world = await startTestWorld({ CHAINS: 'base-sepolia,sepolia' })
  shell = openShell(world, { GEO_KEY_FILE: 'key.txt' })
  batches = batchesOf(shell, world)
})

/** Starts a proxy in front of the service that counts batches, and can stop responding. */
async function door(): Promise<{ url: string; batches: number; shutAfter: number; holds: boolean }> {
  const seen = { url: '', batches: 0, shutAfter: Infinity, holds: false }
  seen.url = await serve((request, response) => {
    if (request.url === '/compute/v0/batch' && ++seen.batches > seen.shutAfter)
      return seen.holds || request.socket.destroy()
    const { method, headers } = request
    const onward = forward(world.url + request.url!, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(response)
    })
    request.pipe(onward)
  })
  return seen
}

describe('the answers of geo batch', () => {
  test('are in the order of the lines, with an error for each invalid line', async () => {
    const place = { type: 'Point', coordinates: [1, 2] }
    const wrong: [object | string, RegExp][] = [
      ['nonsense', /^The line is not a question: expected a JSON object such as/],
      [
        { operation: 'distance', from: `0x${'ab'.repeat(32)}`, to: '1,2' },
        /^Attestation Not Found: from: there is no/,
      ],
      [{ operation: 'area', geometry: place }, /^Invalid Input: geometry: area requires a Polygon/],
      [{ operation: 'volume', geometry: place }, /^Invalid Input: operation: expected one of/],
      [{ operation: 'distance', from: '1,2', to: 'key.txt' }, /^to: expected lng,lat, a UID/],
      [{ operation: 'distance', from: '1,2', to: '2,2', chain: 'mars' }, /The service has no chain mars/],
      [{ operation: 'distance', from: '1,2', to: '2,2', nope: 1 }, /nope: unknown field/],
    ]
    const lines: (object | string)[] = distances(30)
    lines.splice(5, 0, ...wrong.map(([line]) => line), '')
    lines.push({ operation: 'distance', from: place, to: '3,4', chain: 'sepolia', id: 'mine' })
    const name = batches.questions(lines)
    const { code, stdout, stderr } = await shell.geo(['batch', `${name}.ndjson`, '--chain', 'base-sepolia'])
    expect([code, stderr]).toEqual([1, '31 answered, 7 refused\n'])
    const answers = rows(stdout)
    // An empty line has no result, but counts for line numbers.
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

  test('are empty for a file without questions, which the command reports', async () => {
    const name = batches.questions(['', ' '])
    expect(await shell.geo(['batch', `${name}.ndjson`])).toEqual({
      ...{ code: 0, stdout: '' },
      stderr: `'${name}.ndjson' contains no questions.\n0 answered, 0 refused\n`,
    })
  })

  test(
    'are requested 20 at a time, resumed after a failure, and not requested again once complete',
    { tags: ['slow'] },
    async () => {
      const service = await door()
      const name = batches.questions(distances(90))
      const run = ({ url } = service) =>
        shell.geo(['batch', `${name}.ndjson`, '-o', `${name}.out`, '--url', url, '--chain', '84532'])
      // The first run has its own proxy, since one of its requests may still arrive after it has stopped.
      const first = await door()
      first.shutAfter = 2
      const stopped = await run(first)
      expect(stopped).toMatchObject({ code: 4, stdout: '' })
      expect(stopped.stderr).toMatch(
        /^Stopped after 40 of 90 lines: run the command again to resume\.\ngeo: .* does not respond/,
      )
      expect(batches.rowsOf(`${name}.out`)).toHaveLength(40)
      const before = batches.rowsOf(`${name}.out`)
      expect(await run()).toMatchObject({ code: 0, stderr: `90 answered, 0 refused, in ${name}.out\n` })
      expect(service.batches).toBe(3)
      const answers = batches.rowsOf(`${name}.out`)
      expect(answers.map(({ line }) => line)).toEqual(Array.from({ length: 90 }, (_, i) => i + 1))
      expect(answers.slice(0, 40)).toEqual(before)
      expect(await run()).toMatchObject({ code: 0 })
      expect([service.batches, batches.rowsOf(`${name}.out`)]).toEqual([3, answers])
      // A new line is asked wherever it is inserted. The other lines keep their answers.
      const more = [{ operation: 'distance', from: '9,9', to: '1,2' }, ...distances(90)]
      shell.write(`${name}.ndjson`, more.map((line) => JSON.stringify(line)).join('\n'))
      expect(await run()).toMatchObject({ code: 0 })
      expect(service.batches).toBe(4)
      expect(
        batches
          .rowsOf(`${name}.out`)
          .slice(1)
          .map(({ answer }) => answer),
      ).toEqual(answers.map(({ answer }) => answer))
    },
  )

  test('are resumed after Ctrl-C', async () => {
    const service = Object.assign(await door(), { shutAfter: 2, holds: true })
    const name = batches.questions(distances(50))
    const args = ['batch', `${name}.ndjson`, '-o', `${name}.out`, '--url', service.url, '--chain', '84532']
    const running = shell.start(args)
    await expect.poll(() => service.batches).toBe(3)
    await expect
      .poll(() => existsSync(path.join(shell.folder, `${name}.out`)) && batches.rowsOf(`${name}.out`).length)
      .toBe(40)
    running.interrupt()
    expect(await running.ended).toEqual({
      ...{ code: 130, stdout: '' },
      // A line counts once its write has ended.
      stderr: expect.stringMatching(
        /^Stopped after (39|40) of 50 lines: run the command again to resume.\n$/,
      ),
    })
    Object.assign(service, { shutAfter: Infinity, batches: 0 })
    expect((await shell.geo(args)).code).toBe(0)
    expect(service.batches).toBe(1)
  })

  test('do not overwrite a file that is not an output of a batch, or that another process uses', async () => {
    const name = batches.questions(distances(1))
    shell.write('mine.txt', 'mine')
    const args = (file: string) => ['batch', `${name}.ndjson`, '-o', file]
    expect(await shell.geo(args('mine.txt'))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Name another file'),
    })
    expect(readFileSync(path.join(shell.folder, 'mine.txt'), 'utf8')).toBe('mine')
    shell.write('other.out.journal', '{"some":"thing"}\n')
    expect(await shell.geo(args('other.out'))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('not a journal of this version'),
    })
    shell.write('locked.out.journal.lock', String(process.ppid))
    expect(await shell.geo(args('locked.out'))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`process ${process.ppid}`),
    })
    // The id of a process that does not exist.
    shell.write('locked.out.journal.lock', '999999999')
    expect((await shell.geo(args('locked.out'))).code).toBe(0)
    expect(existsSync(path.join(shell.folder, 'locked.out.journal.lock'))).toBe(false)
  })
})

describe('geo batch --land', () => {
  test.each(['direct', 'proxy'])(
    'with the form %s lands 20 answers in a transaction, and none when it runs again',
    async (submission) => {
      const name = batches.questions(distances(25))
      const recipient = Wallet.createRandom().address
      const { code, stderr } = await shell.geo(land(name, recipient, submission))
      expect([code, stderr.match(/^Sent: /gm)]).toEqual([0, ['Sent: ', 'Sent: ']])
      await batches.landedOnce(name, 25, world.chain, recipient)
      const again = await shell.geo(land(name, recipient, submission))
      expect(again).toMatchObject({ code: 0, stderr: `25 answered, 0 refused, in ${name}.out\n` })
      await batches.landedOnce(name, 25, world.chain, recipient)
    },
  )

  test('lands the answers of an earlier run that had no --land', async () => {
    const name = batches.questions(distances(3))
    const recipient = Wallet.createRandom().address
    const args = land(name, recipient, 'proxy')
    await shell.geo(args.filter((word) => word !== '--land'))
    const answers = batches.rowsOf(`${name}.out`).map(({ answer }) => answer)
    expect((await shell.geo(args)).code).toBe(0)
    await batches.landedOnce(name, 3, world.chain, recipient)
    expect(batches.rowsOf(`${name}.out`).map(({ answer }) => answer)).toEqual(answers)
  })

  test('lands no answers of an earlier run that no line requests any more', async () => {
    const name = batches.questions(distances(3))
    const [before, recipient] = [Wallet.createRandom().address, Wallet.createRandom().address]
    await shell.geo(land(name, before, 'proxy').filter((word) => word !== '--land'))
    expect((await shell.geo(land(name, recipient, 'proxy'))).code).toBe(0)
    await batches.landedOnce(name, 3, world.chain, recipient)
    expect(await batches.attested(world.chain, before)).toEqual([])
  })

  test('prints one value per line when it lands or verifies a batch from a file', async () => {
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

  test('lands all other answers if a contract rejects one answer', async () => {
    const chain = world.chain
    // A resolver that rejects everything: it returns false.
    const resolver = Wallet.createRandom().address
    await chain.provider.send('anvil_setCode', [resolver, '0x600060005260206000f3'])
    const schema = await registerSchema(chain, NUMERIC_RESULT_FIELDS, resolver)
    const lines = distances(6)
    lines[3] = { ...lines[3]!, schema } as never
    const name = batches.questions(lines)
    const recipient = Wallet.createRandom().address
    const { code, stderr } = await shell.geo(land(name, recipient, 'direct'))
    expect([code, stderr]).toEqual([1, expect.stringContaining('5 answered, 1 refused')])
    const answers = batches.rowsOf(`${name}.out`)
    expect(answers[3].error.message).toMatch(
      /^The answer did not land: the contract reverted with InvalidAttestation/,
    )
    expect(await batches.attested(chain, recipient)).toHaveLength(5)
    expect(answers.filter(({ landed }) => landed)).toHaveLength(5)
  })
})
