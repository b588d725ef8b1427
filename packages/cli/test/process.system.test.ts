// SPDX-License-Identifier: MIT
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { Wallet, encryptKeystoreJsonSync } from 'ethers'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { beforeAll, describe, expect, test } from 'vitest'
import { attest, locationRequest, mined, testAccount } from '../../../dev/chain'
import { listening, serve } from '../../../test/http-server'
import { hunt } from '../../../test/seed'
import { startTestWorld, type TestWorld } from '../../../test/world'
import { EXAMPLES } from '../src/examples'
import { batchesOf, distances, land, type Batches } from './batch'
import { GEO, openShell, type Ended, type Shell } from './geo'

/**
 * Tests the built `geo` as a process, for features that need one: a terminal, signals, pipes, a shell, a
 * browser.
 */
let world: TestWorld
let shell: Shell
let batches: Batches
beforeAll(async () => {
  // A test can control when the blocks of both chains are mined. EAS 0.26 on sepolia has no deadlines.
  world = await startTestWorld({ CHAINS: 'base-sepolia,sepolia' }, { samples: true })
  shell = openShell(world, { GEO_KEY_FILE: 'key.txt' })
  batches = batchesOf(shell, world)
  const memo = 'one\n{"two"},\n"three",\x1b[31m\u009b31m\u202e four'
  await attest(world.chain, locationRequest({ type: 'Point', coordinates: [-123.393, -48.877] }, { memo }), 9)
  await world.caughtUp()
})

const ANSWER = 'geo distance 2.2945,48.8584 13.3777,52.5163 -q'
const content = (file: string) => readFileSync(path.join(shell.folder, file), 'utf8')
const raw = async (query: string) => (await fetch(`${world.url}/api/v0/location-records?${query}`)).text()

// These tests run only if the system has a suitable `script` program.
describe('geo on a terminal', () => {
  test('shows colours unless NO_COLOR is set', async () => {
    const colours = await shell.terminal(ANSWER)?.ended
    if (!colours) return
    expect(colours).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\x1b\[1m881,329\.94 m\x1b/) })
    const plain = await shell.terminal(ANSWER, { NO_COLOR: '1' })!.ended
    expect(plain.stdout).not.toContain('\x1b')
  })

  test('asks for a passphrase without echo, until Ctrl-C', async () => {
    const { address, privateKey } = testAccount(5)
    const scrypt = { N: 1024, r: 8, p: 1 }
    shell.write(
      'keystore.json',
      encryptKeystoreJsonSync({ address, privateKey }, 'a phrase', { scrypt }),
      0o600,
    )
    const command = `${ANSWER} --land --key-file keystore.json`
    const typed = shell.terminal(command)
    if (!typed) return
    await typed.until('stdout', /Passphrase of keystore.json: /)
    typed.stdin.write('a phrase\n')
    const { code, stdout } = await typed.ended
    expect([code, stdout]).toEqual([0, expect.stringContaining('landed')])
    expect(stdout).not.toContain('a phrase')
    const left = shell.terminal(command)!
    await left.until('stdout', /Passphrase of keystore.json: /)
    left.stdin.write('\x03')
    expect((await left.ended).code).toBe(130)
  })

  test('prints no control characters of strangers, and shows a progress bar for a file', async () => {
    const drawn = await shell.terminal(
      'geo records --format csv -o drawn.csv && geo records --format csv | cat > piped.csv',
    )?.ended
    if (!drawn) return
    const records = (await raw('format=ndjson')).trimEnd().split('\n').length
    expect(drawn.stdout).toMatch(new RegExp(`\r\x1b\\[K\\[-{24}\\] 0% {2}0 of ${records} records`))
    expect(drawn.stdout).toMatch(
      new RegExp(`\r\x1b\\[K${records} records, \\d+\\.\\d kB, in drawn\\.csv\r\n`),
    )
    expect([
      content('drawn.csv') === (await raw('format=csv')),
      content('piped.csv') === content('drawn.csv'),
    ]).toEqual([true, true])
    const seen = await shell.terminal('geo records --format csv --limit 3')!.ended
    expect(seen.stdout).toContain('one')
    expect(seen.stdout).not.toMatch(/[\x1b\u009b\u202e]/)
  })

  test.each(['geoparquet', 'flatgeobuf'])('prints no %s, which it writes only to a pipe', async (format) => {
    const line = `geo records --format ${format}`
    const piped = await shell.sh(`${line} | cksum && ${line} -q -o all.bin && cksum < all.bin`).ended
    const [pipe, file] = piped.stdout.trim().split('\n')
    expect([piped.code, pipe]).toEqual([0, file])
    const shown = await shell.terminal(line)?.ended
    if (shown) expect(shown.stdout).toContain(`A ${format} file cannot be shown in a terminal`)
  })

  test('shows the reason for which the command waits', async () => {
    const url = await serve(() => {})
    const running = shell.terminal(`geo stats --url ${url}`)
    if (!running) return
    expect(await running.until('stdout', /Waiting for the service at \S+ \.\.\./)).toContain(url)
    running.interrupt()
  })
})

describe('the process of geo', () => {
  test.each([
    ['SIGINT', 130],
    // It then ends by the signal, as supervisors expect.
    ['SIGTERM', null],
  ] as const)('reports its position after %s', async (signal, code) => {
    const watching = shell.process(['watch', '--after', 'start,base-sepolia.0'])
    await watching.until('stderr', /Watching http/)
    // The printed position is that of the last handled event.
    await watching.until('stdout', /\n/)
    watching.child.kill(signal)
    expect(await watching.ended).toMatchObject({
      code,
      stderr: expect.stringMatching(/\nStopped\. To resume, repeat the command with --after '[^']+'\.\n$/),
    })
  })

  test('ends at Ctrl-C and at its timeout while the service does not respond', async () => {
    const silent = createServer(() => {})
    const args = ['stats', '--url', await listening(silent)]
    const interrupted = shell.process(args)
    await new Promise((resolve) => silent.once('request', resolve))
    interrupted.interrupt()
    expect(await interrupted.ended).toEqual({ code: 130, stdout: '', stderr: '' })
    const late = await shell.process([...args, '--timeout', '0.5']).ended
    expect(late).toMatchObject({ code: 4, stderr: expect.stringContaining('within 0.5 s') })
  })

  test('ends at the second Ctrl-C while its wallet sends, but not at the first', async () => {
    const sends: string[] = []
    const node = await serve((request, response) => {
      void text(request).then(async (body) => {
        if (body.includes('eth_sendRawTransaction')) return void sends.push(body)
        const headers = { 'content-type': 'application/json' }
        const answer = await fetch(world.chain.url, { method: 'POST', headers, body })
        response.writeHead(answer.status, headers).end(await answer.text())
      })
    })
    const args = [...ANSWER.split(' ').slice(1), '--land', '--rpc', node]
    const landing = shell.process(args)
    await expect.poll(() => sends.length).toBe(1)
    let isOver = false
    void landing.ended.finally(() => (isOver = true))
    // Simultaneous signals are merged, so the loop sends one at a time.
    for (; !isOver; await pause(100)) landing.interrupt()
    // After the handler is removed, a further signal kills the process. Shells show status 130 for that as
    // well.
    const { code, ...output } = await landing.ended
    expect([130, null]).toContain(code)
    expect(output).toEqual({ stdout: '', stderr: '' })
  })

  test('ends without an error when its output is closed', async () => {
    const line = 'set -o pipefail; geo records --format csv | head -n 1 && geo records --json | head -c 1'
    const { code, stdout, stderr } = await shell.sh(line, {}, 'bash').ended
    expect([code, stderr, stdout.split('\n')[1]]).toEqual([0, '', '['])
  })

  test('exits with the status of a check although its output is closed', async () => {
    const ask = `${ANSWER} --json > valid.json && sed 's/"result":8/"result":9/' valid.json > altered.json`
    expect((await shell.sh(ask, {}, 'bash').ended).code).toBe(0)
    for (const [file, code] of [
      ['valid.json', 0],
      ['altered.json', 1],
    ] as const) {
      const { ended } = shell.sh(`set -o pipefail; geo verify ${file} | true`, {}, 'bash')
      expect(await ended).toEqual({ code, stdout: '', stderr: '' })
    }
  })

  test.runIf(existsSync('/dev/full'))('reports that a disk is full, and does not succeed', async () => {
    const text = 'geo: Could not write the output (ENOSPC).\n'
    const printed = [`${ANSWER} --json`, 'geo verify altered.json', 'geo records --format csv']
    for (const [i, code] of [2, 1, 2].entries()) {
      const { ended } = shell.sh(`${printed[i]} > /dev/full`, {}, 'bash')
      expect(await ended).toEqual({ code, stdout: '', stderr: expect.stringContaining(text) })
    }
    expect((await shell.sh('geo nothing 2> /dev/full', {}, 'bash').ended).code).toBe(2)
  })

  const inShell = Object.values(EXAMPLES)
    .flat()
    .filter(({ command }) => /[|(]/.test(command))
  test.each(inShell)('runs in a shell: $command', async ({ command }) => {
    const { code, stdout, stderr } = await shell.sh(command, {}, 'bash').ended
    expect([code, stderr]).toEqual([0, ''])
    if (command.includes('|')) expect(stdout).toMatch(/^"uid":"0x/)
  })

  test('serves tools over its stdin and stdout', async () => {
    const host = new Client({ name: 'host', version: '1.0.0' })
    const { folder: cwd, env } = shell
    await host.connect(new StdioClientTransport({ command: process.execPath, args: [GEO, 'mcp'], env, cwd }))
    expect((await host.listTools()).tools.map(({ name }) => name)).toContain('land_answer')
    await host.close()
  })

  test.runIf(process.platform === 'linux')('starts a browser if there is a display', async () => {
    shell.write(
      'browser',
      `#!/bin/sh\nprintf %s "$1" > '${shell.folder}/opened.part' && mv '${shell.folder}/opened.part' '${shell.folder}/opened'\n`,
      0o755,
    )
    const env = {
      DISPLAY: ':99',
      BROWSER: path.join(shell.folder, 'browser'),
      XDG_DATA_DIRS: '/none',
      XDG_DATA_HOME: '/none',
    }
    expect((await shell.process(['open', '--bbox', '-10,35,30,60'], env).ended).code).toBe(0)
    await expect.poll(() => existsSync(path.join(shell.folder, 'opened'))).toBe(true)
    expect(content('opened')).toBe(`${world.url}/api/v0/location-records?format=html&bbox=-10%2C35%2C30%2C60`)
  })
})

describe('geo batch', () => {
  test.each(['direct', 'proxy'])(
    'with the form %s lands each answer once after a kill during a transaction',
    async (submission) => {
      const chain = world.chain
      const name = batches.questions(distances(21))
      const recipient = Wallet.createRandom().address
      const args = land(name, recipient, submission)
      await chain.provider.send('evm_setAutomine', [false])
      try {
        const killed = shell.process(args)
        const [hash] = /0x\w{64}/.exec(await killed.until('stderr', /Sent: transaction 0x\w{64}/))!
        killed.child.kill('SIGKILL')
        await killed.ended
        expect(await batches.attested(chain, recipient)).toEqual([])
        // The next run finds the transaction in no block. Its RPC endpoint reports that the same call would
        // fail after the pending one.
        expect(await shell.geo(args)).toMatchObject({
          code: 5,
          stderr: expect.stringMatching(/\ngeo: .*wallet .*: Execution reverted/),
        })
        await chain.provider.send('anvil_mine', ['0x1'])
        await mined(chain, hash)
      } finally {
        await chain.provider.send('evm_setAutomine', [true])
      }
      expect(await shell.geo(args)).toMatchObject({ code: 0 })
      await batches.landedOnce(name, 21, chain, recipient)
    },
  )

  hunt(
    'lands each answer once after kills at any moment, while other transactions use the nonces',
    1,
    async ({ random, cases }) => {
      const chain = world.chains.get('sepolia')!
      const name = batches.questions(distances(50))
      const recipient = Wallet.createRandom().address
      const args = land(name, recipient, 'direct', 'sepolia')
      shell.write('other.txt', `${Wallet.createRandom().privateKey}\n`, 0o600)
      let ended: Ended | undefined
      let kills = 0
      for (; ended?.code !== 0; kills++) {
        expect(kills).toBeLessThan(60 + cases)
        const run = shell.process(args)
        const other = shell.start(['distance', '5,5', '6,6', '--chain', 'sepolia', '--land', '-q'])
        // Kills the run at a step, or at a random moment after it. The last run may finish.
        if (kills < 2) await run.until('stderr', /Sent|Re-signed/)
        else if (kills < 2 + cases) await Promise.race([run.ended, pause(2_000 * random())])
        else await run.ended
        run.child.kill('SIGKILL')
        ended = await run.ended
        await other.ended
        expect([0, null], ended.stderr).toContain(ended.code)
      }
      expect(kills).toBeGreaterThan(1)
      await batches.landedOnce(name, 50, chain, recipient)
    },
  )
})
