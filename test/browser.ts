import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { WebSocket } from 'undici'
import { removeFolder, temporaryFolder } from './database'

/** The browser of this machine; undefined where it has none. */
export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (file) => existsSync(file),
)

/** A headless browser with one page, driven over the Chrome DevTools Protocol. */
export interface Browser {
  /** What the page logged, and its uncaught errors, as protocol events. */
  readonly complaints: readonly unknown[]
  /** The URL of every request that the page sent. */
  readonly requested: readonly string[]
  go(url: string): Promise<void>
  /** The value of this expression in the page, as JSON carries it. */
  evaluate(expression: string): Promise<any>
  /** Resolves once this expression is true in the page. */
  until(expression: string): Promise<void>
  /** Waits for the first element of this selector, and clicks on its middle. */
  click(selector: string): Promise<void>
  /** Ends the browser and every process that it started. */
  close(): Promise<void>
}

/** Starts CHROMIUM. No name resolves in it, so a page that loads something from elsewhere fails visibly. */
export async function startBrowser(): Promise<Browser> {
  const folder = temporaryFolder()
  const flags = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--remote-debugging-port=0',
    `--user-data-dir=${folder}`,
    '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    'about:blank',
  ]
  // A process group of its own, so that close() reaches the processes that the browser starts.
  const child = spawn(CHROMIUM!, flags, { detached: true, stdio: ['ignore', 'ignore', 'pipe'] })
  // 'close' comes once every process that has the browser's stderr has ended; 'exit' comes before.
  const ended = once(child, 'close')
  const close = async () => {
    process.kill(-child.pid!, 'SIGKILL')
    await ended
    removeFolder(folder)
  }
  try {
    const port = await new Promise<string>((resolve, reject) => {
      child.stderr.on('data', (data: Buffer) => {
        const [, found] = /ws:\/\/[^/]+:(\d+)/.exec(data.toString()) ?? []
        if (found) resolve(found)
      })
      child.once('exit', (code) => reject(new Error(`The browser ended (${code}) before it was ready.`)))
    })
    return { ...(await openPage(port)), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function openPage(port: string): Promise<Omit<Browser, 'close'>> {
  const socket = new WebSocket(await pageUrl(port))
  await new Promise((resolve) => socket.addEventListener('open', resolve))
  const answers = new Map<number, (result: any) => void>()
  const complaints: unknown[] = []
  const requested: string[] = []
  socket.addEventListener('message', ({ data }) => {
    const { id, method, params, result } = JSON.parse(data as string)
    if (id) answers.get(id)!(result)
    else if (['Log.entryAdded', 'Runtime.exceptionThrown', 'Runtime.consoleAPICalled'].includes(method))
      complaints.push(params)
    else if (method === 'Network.requestWillBeSent') requested.push(params.request.url)
  })
  const send = (method: string, params: object = {}) =>
    new Promise<any>((resolve) => {
      answers.set(answers.size + 1, resolve)
      socket.send(JSON.stringify({ id: answers.size, method, params }))
    })
  const evaluate = async (expression: string) =>
    (await send('Runtime.evaluate', { expression, returnByValue: true })).result.value
  const until = async (expression: string) => {
    while (!(await evaluate(expression))) await pause(50)
  }
  for (const domain of ['Log', 'Runtime', 'Network', 'Page']) await send(`${domain}.enable`)
  return {
    complaints,
    requested,
    evaluate,
    until,
    go: async (url) => void (await send('Page.navigate', { url })),
    click: async (selector) => {
      await until(`!!document.querySelector('${selector}')`)
      const [x, y] = await evaluate(
        `(() => { const r = document.querySelector('${selector}').getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()`,
      )
      for (const type of ['mouseMoved', 'mousePressed', 'mouseReleased'])
        await send('Input.dispatchMouseEvent', { type, x, y, button: 'left', clickCount: 1 })
    },
  }
}

/** The DevTools address of the browser's page, once it has one. */
async function pageUrl(port: string): Promise<string> {
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}/json`)
    const targets = (await response.json()) as { type: string; webSocketDebuggerUrl: string }[]
    const page = targets.find(({ type }) => type === 'page')
    if (page) return page.webSocketDebuggerUrl
    await pause(50)
  }
}
