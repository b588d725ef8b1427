import path from 'node:path'
import { expect, test, vi } from 'vitest'
import { rendered } from './hooks'

/** The module without its types: this project lacks those of browsers. */
const RECORDS = path.resolve('web/playground/records.ts')
interface Records {
  fields: { record?: object; note?: string }[]
  isUnsure: boolean
  unread: number
  lookAgain: () => void
}
const UID = `0x${'5a'.repeat(32)}`

test('a form looks for a record again after a failure, and when the user asks', async () => {
  // Modules of pages read their address and language when they are loaded.
  vi.stubGlobal('location', new URL('http://127.0.0.1/'))
  vi.stubGlobal('navigator', { languages: ['en'] })
  vi.stubGlobal('document', { documentElement: {} })
  vi.stubGlobal('history', { pushState: () => {}, replaceState: () => {} })
  vi.stubGlobal('addEventListener', () => {})
  let respond = (): Promise<Response> => Promise.reject(new TypeError('Failed to fetch'))
  vi.stubGlobal('fetch', () => respond())
  const { useRecords } = (await import(RECORDS)) as {
    useRecords: (parsed: object[], choice: object) => Records
  }
  let shown: Records | undefined
  const Form = () => {
    shown = useRecords([{ kind: 'uid', uid: UID, input: UID }], {})
    return null
  }
  vi.useFakeTimers()
  const remove = await rendered(Form, {})
  const after = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms)
    return shown!.fields[0]!
  }
  try {
    expect((await after(1_000)).note).toMatch(/does not respond/)
    // A question waits for the retry, because the chain of the record is still unknown.
    expect(shown!).toMatchObject({ isUnsure: true, unread: -1 })
    respond = async () => new Response(null, { status: 429 })
    expect((await after(2_000)).note).toMatch(/request limit/)
    respond = async () => new Response(null, { status: 404 })
    expect((await after(4_000)).note).toMatch(/not indexed yet/)
    expect(shown!).toMatchObject({ isUnsure: false, unread: -1 })
    let refuse = (_: Response) => {}
    respond = () => new Promise((resolve) => (refuse = resolve))
    shown!.lookAgain()
    await after(1_000)
    expect(shown!).toMatchObject({ isUnsure: true, unread: -1 })
    refuse(new Response(null, { status: 403 }))
    await after(1_000)
    expect(shown!).toMatchObject({ isUnsure: false, unread: 0 })
    respond = async () => Response.json({ geometry: null, properties: { chain: 'celo' } })
    shown!.lookAgain()
    expect(await after(1_000)).toEqual({ record: { chain: 'celo', geometry: null } })
  } finally {
    remove(null)
    vi.useRealTimers()
    vi.unstubAllGlobals()
  }
})
