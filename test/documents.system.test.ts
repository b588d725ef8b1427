import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { attest, locationRequest, mineOn, revoke } from '../dev/chain'
import { temporaryFolder } from './database'
import {
  blocksOf,
  differences,
  isLike,
  lineDifferences,
  pagesUnder,
  parseShown,
  shellCommands,
  shellWords,
} from './documents'
import type { Block } from './documents'
import { listen } from './sse'
import { compilePrograms } from './typescript'
import { startTestWorld, type TestWorld } from './world'

/**
 * Sends every request of the documents to the service of `npm start`, and compares its response with the one
 * shown below it. Allowed differences: CONTRIBUTING.md, Documents.
 */
/** Pages that attest places. Other pages would count those places, so these pages run last. */
const ATTESTING = ['docs/guide/attest.md', 'docs/guide/cli.md']
const PAGES = ['README.md', ...pagesUnder('docs/guide'), ...pagesUnder('docs/reference')]
  // Pages that are run by tests with compiled contracts: kit.system.test.ts and quorum-world.system.test.ts.
  .filter((page) => !['docs/guide/contracts.md', 'docs/guide/quorum.md'].includes(page))
  .sort((a, b) => Number(ATTESTING.includes(a)) - Number(ATTESTING.includes(b)))
/** Commands that other tests run, or that install programs. */
const ELSEWHERE = /^(npm|npx|ogrinfo|ogr2ogr|docker|git|cp) /
/**
 * Commands of a page that uses `geo`: each is run by sh, in a folder of the page, with the variables that
 * earlier commands exported.
 */
const SHELL = /^\(?(geo|export|echo|umask|cut)\b/
const ANSWERS = ['json', 'jsonc', 'csv', 'text']
/** Programs in TypeScript by page and line, with their compiled code. */
const programs = new Map(
  PAGES.flatMap((page) =>
    blocksOf(page).flatMap((block, i, blocks): [string, string][] =>
      block.language === 'ts' && blocks[i + 1]?.language === 'text'
        ? [[`${page}:${block.line}`, block.text]]
        : [],
    ),
  ),
)
const STREAM_WAIT_MS = 600_000
/** Position far from all other places. */
const NEMO = locationRequest({ type: 'Point', coordinates: [-123.393, -48.877] }, { memo: 'Point Nemo' })
/** Resolves after the first change of a record. */
let begun: Promise<void> | undefined
/** Server-sent comment that keeps an idle stream open. */
const KEEP_ALIVE = /(?<=\n\n):\nid: .*\n\n/g

/** Time limit that includes compiling the programs. */
const COMPILING_MS = 600_000

let world: TestWorld
let folder: string
beforeAll(async () => {
  folder = temporaryFolder()
  const names = [...programs.keys()]
  const sources = names.map((name) => ({ name, source: programs.get(name)! }))
  const compiled = compilePrograms(sources, false)
  for (const [i, name] of names.entries()) programs.set(name, compiled[i]!)
  world = await startTestWorld(
    {
      ...{ CHAINS: 'base-sepolia,sepolia,arbitrum,celo', WALLET_AUTH: 'true', DEPLOYMENT_NAME: 'local' },
      ADMIN_KEY: 'an-admin-key-of-32-characters-or-more',
    },
    { samples: true },
  )
  // As with `npm start`, programs wait for transactions by the next block.
  for (const chain of world.chains.values()) mineOn(chain)
}, COMPILING_MS)

describe.each(PAGES)('the page %s', (page) => {
  const blocks = blocksOf(page)
  /** Text on the page -> the text that replaces it in this run. */
  const known = new Map<string, string>()
  const here = (text: string) => {
    let local = text.replaceAll('http://127.0.0.1:3000', world.url)
    for (const [slug, port] of [
      ['base-sepolia', 8545],
      ['sepolia', 8546],
    ] as const)
      local = local.replaceAll(`http://127.0.0.1:${port}`, world.chains.get(slug)!.url)
    for (const [shown, real] of known) local = local.replaceAll(shown, real)
    return local
  }
  const answerAfter = (i: number) =>
    ANSWERS.includes(blocks[i + 1]?.language ?? '') ? blocks[i + 1] : undefined
  const check = (answer: Block, real: string) => {
    const shown = here(answer.text)
    const wrong = answer.language.startsWith('json')
      ? differences(parseShown(shown), JSON.parse(real), (from, to) => from !== to && known.set(from, to))
      : isLike(shown.trim(), real.trim())
        ? []
        : lineDifferences(shown, real)
    expect(wrong, `${page}:${answer.line}`).toEqual([])
  }

  const runs = blocks.flatMap((block, i) => {
    const answer = answerAfter(i)
    if (block.language === 'sh') {
      const commands = shellCommands(block.text).filter((command) => !ELSEWHERE.test(command))
      return commands.map((command, n) => ({
        name: `line ${block.line} runs: ${command.slice(0, 100)}`,
        run: () => runCommand(command, n === commands.length - 1 ? answer : undefined),
      }))
    }
    if (block.language === 'graphql')
      return [{ name: `line ${block.line} runs: GraphQL`, run: () => runQuery(block.text, answer) }]
    if (block.language === 'js' && answer?.language === 'text')
      return [{ name: `line ${block.line} runs: a program`, run: () => runProgram(block.text, answer) }]
    if (block.language === 'ts' && answer?.language === 'text')
      return [
        {
          name: `line ${block.line} runs: a program in TypeScript`,
          run: () => runProgram(programs.get(`${page}:${block.line}`)!, answer),
        },
      ]
    return []
  })

  async function runCommand(command: string, answer: Block | undefined): Promise<void> {
    if (SHELL.test(command)) {
      const output = await shell(here(command))
      if (answer) check(answer, output)
      return
    }
    const [name, ...words] = shellWords(here(command))
    if (name === 'node') {
      const output = await program(words)
      if (answer) check(answer, output)
      return
    }
    expect(name, `${page}: a command that no test runs`).toBe('curl')
    const { url, ...request } = curl(words)
    if (new URL(url).pathname.endsWith('/stream')) return follow(url, answer!)
    const response = await fetch(url, request)
    const body = await response.text()
    if (answer) check(answer, body)
    else
      expect([response.status, body.length > 100], `${command}: ${body.slice(0, 500)}`).toEqual([200, true])
  }

  async function runQuery(query: string, answer: Block | undefined): Promise<void> {
    const { status, body } = await world.post('/graphql', { query: here(query) })
    expect([status, body.errors]).toEqual([200, undefined])
    if (answer) check(answer, JSON.stringify(body))
  }

  /**
   * Runs a program. A program that does not end by itself is stopped after it has printed the shown output.
   */
  async function runProgram(code: string, answer: Block): Promise<void> {
    check(answer, await program(['--input-type=module', '-'], here(code), here(answer.text).trim()))
  }

  /**
   * Changes a record. In a new copy of a database, the first change sends a `reset` to all streams, so it
   * must happen before they open.
   */
  async function begin(): Promise<void> {
    await revoke(world.chain, await attest(world.chain, NEMO, 9), 9)
    await world.caughtUp()
  }

  /** Opens a stream, and attests and revokes places at the same time, so that it has events. */
  async function follow(url: string, answer: Block): Promise<void> {
    const shown = here(answer.text).trim()
    const lines = shown.split('\n').length
    const stop = new AbortController()
    await (begun ??= begin())
    const response = await fetch(url, { signal: stop.signal })
    let told: Promise<void> | undefined
    let text = ''
    try {
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        text += chunk
        const [shownOne, first] = [...text.matchAll(KEEP_ALIVE)]
        // After its first event, a stream misses no event. Before that, a record may already be revoked when
        // it is first sent.
        if (shownOne) told ??= happenings(stop)
        if (first) text = text.slice(0, first.index) + text.slice(first.index).replace(KEEP_ALIVE, '')
        if (text.split('\n').length > lines) break
      }
    } catch (error) {
      if (!stop.signal.aborted) throw error
    }
    stop.abort()
    await told
    check(answer, text.split('\n').slice(0, lines).join('\n'))
  }
  /**
   * Attests and revokes a place while the page's stream is open, until `stop` is aborted.
   * After STREAM_WAIT_MS it aborts `stop` itself.
   */
  async function happenings(stop: AbortController): Promise<void> {
    const started = performance.now()
    const goesOn = () => !stop.signal.aborted && performance.now() - started < STREAM_WAIT_MS
    const until = async (holds: () => boolean | Promise<boolean>) => {
      while (performance.now() - started < STREAM_WAIT_MS && !(await holds())) await pause(50)
    }
    const own = await listen(`${world.url}/api/v0/location-records/stream`)
    /** All streams receive events at the same time. */
    const told = (kind: string, uid: string) =>
      until(() => own.events.some(({ event, data }) => event === kind && data.uid === uid))
    const listeners = async () => {
      const metrics = await (await fetch(`${world.url}/metrics`)).text()
      return Number(/^geospatial_stream_listeners (\d+)/m.exec(metrics)![1])
    }
    await until(async () => !goesOn() || (await listeners()) >= 2)
    while (goesOn()) {
      const uid = await attest(world.chain, NEMO, 9)
      // Waits for the event, because the record would otherwise already be revoked when it is first sent.
      await told('new', uid)
      await revoke(world.chain, uid, 9)
      // Waits also after `stop`, because the next page's stream could otherwise begin with this event.
      await told('revoked', uid)
    }
    own.close()
    stop.abort()
    // A stream that stays open would be mistaken for a stream of the next page.
    while ((await listeners()) > 0) await pause(50)
    await world.caughtUp()
  }
  /** Output of a command on a terminal. Its exports apply to the page's later commands. */
  async function shell(command: string): Promise<string> {
    const file = (name: string) => path.join(folder, `${page.replaceAll('/', '-')}.${name}`)
    const geo = `geo() { '${process.execPath}' '${path.resolve('packages/cli/bin/geo.mjs')}' "$@"; }`
    const code = `[ ! -f '${file('env')}' ] || . '${file('env')}'\n${geo}\n${command}\nstatus=$?; export -p > '${file('env')}'; exit $status`
    writeFileSync(file('sh'), code)
    const env = { HOME: folder, PATH: process.env.PATH, GEO_URL: world.url }
    const child = spawn('sh', ['-c', `exec 2>&1; . '${file('sh')}'`], { cwd: folder, env })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
    const status = await new Promise((resolve) => child.once('close', resolve))
    expect(status, `${command}\n${output}`).toBe(0)
    return output
  }
  async function program(args: string[], stdin = '', until?: string): Promise<string> {
    const child = spawn(process.execPath, args, {
      env: { ...process.env, SERVICE_URL: world.url, WALLET_KEY: `0x${'5a'.repeat(32)}` },
    })
    const stop = new AbortController()
    const events = /\/stream\b/.test(stdin) ? happenings(stop) : Promise.resolve()
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString()
        if (until && isLike(until, output.trim())) child.kill()
      })
    stop.signal.addEventListener('abort', () => child.kill())
    child.stdin.end(stdin)
    const code = await new Promise((resolve) => child.once('close', resolve))
    stop.abort()
    await events
    // null: the program was killed after it printed the shown output or exceeded its time limit
    expect([0, null], output).toContain(code)
    return output
  }

  if (runs.length === 0) test('has no request to run', () => {})
  // Requests run in order, because they use values of earlier responses.
  for (const { name, run } of runs) test(name, run)
})

/** HTTP request that a curl command sends. */
function curl(words: string[]): { url: string; method?: string; headers: [string, string][]; body?: string } {
  const request: ReturnType<typeof curl> = { url: '', headers: [] }
  const query: string[] = []
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!
    const operand = () => words[++i]!
    if (word === '-H') {
      const [, name, value] = /^([^:]+): *(.*)$/.exec(operand())!
      request.headers.push([name!, value!])
    } else if (word === '-d') request.body = operand()
    else if (word === '--data-urlencode') {
      const [, name, value] = /^([^=]+)=([^]*)$/.exec(operand())!
      query.push(`${name!}=${encodeURIComponent(value!)}`)
    } else if (word === '-X') request.method = operand()
    else if (word === '-o') operand()
    else if (/^https?:/.test(word)) request.url = word
    else if (!/^-[sSNgG]+$/.test(word)) throw new Error(`curl ${word}: not known to this test`)
  }
  // With -G, curl sends the data as a query string.
  if (query.length > 0) request.url += `?${query.join('&')}`
  if (request.body !== undefined) request.method ??= 'POST'
  return request
}
