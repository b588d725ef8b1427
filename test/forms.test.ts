import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

/** Tests of the state of the forms, in a page without elements: its components render nothing. */

/** Address of the page. */
let address = new URL('http://127.0.0.1/')
const [reload, assign] = [vi.fn(), vi.fn()]
beforeAll(() => {
  // Modules of pages read their address and language when they are loaded.
  const place = {
    get: (_: object, name: keyof URL | 'reload' | 'assign') =>
      name === 'reload' ? reload : name === 'assign' ? assign : address[name],
  }
  const replaceState = (_: unknown, __: string, to: string) => void (address = new URL(to, address))
  vi.stubGlobal('location', new Proxy({}, place))
  const pushState = (...change: Parameters<typeof replaceState>) => replaceState(...change)
  vi.stubGlobal('history', { replaceState, pushState })
  vi.stubGlobal('navigator', { languages: ['en'] })
  vi.stubGlobal('document', { documentElement: {}, querySelector: () => null })
  vi.stubGlobal('addEventListener', (type: string, listener: () => void) => {
    if (type === 'popstate') arrive = listener
  })
})
afterAll(() => void vi.unstubAllGlobals())
/** Reads the address, as after the browser's back button. */
let arrive = () => {}

/** Module of the pages, or a package, without its types, which need those of browsers. */
const load = (name: string): Promise<any> => import(name.includes('.') ? path.resolve('web', name) : name)
/** Opens an address, and returns the last result of a hook in a component of its page. */
async function open<T>(to: string, hook: () => T) {
  await load('location.ts')
  address = new URL(to, address)
  arrive()
  const { h, render } = await load('preact')
  const last = {} as { now: T }
  const Form = () => {
    last.now = hook()
    return null
  }
  const parent = { nodeType: 1, childNodes: [], firstChild: null, insertBefore() {}, removeChild() {} }
  render(h(Form, {}), parent)
  return last
}

describe('the form of the playground', () => {
  test('keeps a field that was edited before the position of the other one arrives', async () => {
    const { useForm } = await load('playground/form.ts')
    const form = await open('/playground', () => useForm())
    const late = form.now.setText
    form.now.setText(1, '13.405, 52.52')
    await expect.poll(() => form.now.texts).toEqual(['', '13.405, 52.52'])
    late(0, '2.2945, 48.8584')
    const both = ['2.2945, 48.8584', '13.405, 52.52']
    await expect.poll(() => form.now.texts).toEqual(both)
    expect(['a', 'b'].map((name) => address.searchParams.get(name))).toEqual(both)
  })

  test('loads the page again for operators to which its document allows no requests', async () => {
    await open('/attest?operators=https://a.example', () => {})
    await open('/playground?a=1,2', () => {})
    expect(reload).not.toHaveBeenCalled()
    await open('/playground?operators=https://a.example&k=1', () => {})
    expect(reload).toHaveBeenCalledOnce()
  })
})

describe('the form of the attest page', () => {
  test.each([
    ['of ASCII letters', 'x'.repeat(5_900), true],
    ['that takes longer when it is encoded', 'я'.repeat(3_000), false],
    ['that is too long next to the filters of the map', 'я'.repeat(900), true],
  ])('keeps its address short for a memo %s', async (_, memo, isShared) => {
    const { useForm } = await load('attest/form.ts')
    const filters = new URLSearchParams({ memo: 'я'.repeat(100) }).toString()
    const form = await open(`/attest?filters=${encodeURIComponent(filters)}`, () => useForm())
    form.now.set({ memo, place: '2.2945, 48.8584' })
    await expect.poll(() => address.searchParams.get('place')).toBe('2.2945, 48.8584')
    expect(address.searchParams.get('memo')).toBe(isShared ? memo : null)
    expect(address.search.length).toBeLessThan(6_100)
    form.now.set({ memo: '' })
    await expect.poll(() => address.searchParams.get('memo')).toBe(null)
    expect(address.searchParams.get('filters')).toBe(filters)
  })

  test('rejects an incomplete time, whose input has no value', async () => {
    const { placeOf, useForm } = await load('attest/form.ts')
    const form = await open('/attest?place=1,2', () => useForm())
    form.now.timeInput.current = { value: '', validity: { badInput: true } }
    const problem = { field: 'time', sentence: expect.any(String) }
    expect(() => placeOf(form.now.entered())).toThrow(expect.objectContaining({ problem }))
    form.now.timeInput.current.validity.badInput = false
    expect(placeOf(form.now.entered())).not.toHaveProperty('time')
  })
})

describe.each(['playground', 'attest'])('the address of a form (%s)', (page) => {
  test('changes nothing of the form while a wallet is asked to sign its content', async () => {
    const { lock, parametersOf, visitOf } = await load('location.ts')
    const state = () => [visitOf(page), String(parametersOf(page)), address.searchParams.get('chain')]
    await open(`/${page}?chain=one`, () => undefined)
    const first = visitOf(page)
    lock(page, true)
    await open(`/${page}?chain=two`, () => undefined)
    expect(state()).toEqual([first, 'chain=one', 'one'])
    lock(page, false)
    await open(`/${page}?chain=two`, () => undefined)
    expect(state()).toEqual([first + 1, 'chain=two', 'two'])
  })
})

describe('a browser that refuses an address, as Safari does after 100 changes in 30 s', () => {
  let history: Record<'pushState' | 'replaceState', () => void>
  /** Refuses all changes of the address; returns a function that ends this. */
  const refuse = (name = 'SecurityError') => {
    const error = new DOMException('more than 100 times per 30 seconds', name)
    const spies = (['pushState', 'replaceState'] as const).map((method) =>
      vi.spyOn(history, method).mockImplementation(() => {
        throw error
      }),
    )
    return () => spies.forEach((spy) => spy.mockRestore())
  }
  beforeEach(() => {
    ;({ history } = globalThis as unknown as { history: typeof history })
    vi.useFakeTimers()
  })
  afterEach(() => void vi.useRealTimers())

  test('gets the address of a typed text later', async () => {
    const { parametersOf, setParameters } = await load('location.ts')
    await open('/playground?a=1', () => {})
    const accept = refuse()
    for (const a of ['12', '123']) setParameters('playground', { a })
    expect([parametersOf('playground').get('a'), address.searchParams.get('a')]).toEqual(['123', '1'])
    accept()
    await vi.runAllTimersAsync()
    expect(address.searchParams.get('a')).toBe('123')
  })

  test('gets a history entry for a refused step, and none for one that was undone', async () => {
    const { setParameters } = await load('location.ts')
    await open('/?by=type', () => {})
    const step = (record: string | undefined) => setParameters('explorer', { record }, true)
    for (const isUndone of [false, true]) {
      const accept = refuse()
      step('celo-0x1')
      await vi.advanceTimersByTimeAsync(10_000)
      if (isUndone) setParameters('explorer', { record: undefined })
      setParameters('explorer', { at: '1,2,3' })
      accept()
      const push = vi.spyOn(history, 'pushState')
      await vi.runAllTimersAsync()
      setParameters('explorer', { at: '3,2,1' })
      expect([push.mock.calls.length, address.searchParams.get('record')]).toEqual(
        isUndone ? [0, null] : [1, 'celo-0x1'],
      )
      push.mockRestore()
      setParameters('explorer', { record: undefined, at: undefined })
    }
  })

  test('loads the page that a link opens', async () => {
    const { goTo } = await load('location.ts')
    await open('/playground?a=1', () => {})
    const accept = refuse()
    goTo('http://127.0.0.1/log')
    expect(assign).toHaveBeenCalledExactlyOnceWith('http://127.0.0.1/log')
    accept()
  })

  test('gets the address of a form later that the user keeps after the back button', async () => {
    const { askBeforeLosing } = await load('location.ts')
    await open('/playground?a=1', () => {})
    askBeforeLosing('playground', 'Lose it?')
    vi.stubGlobal('confirm', () => false)
    const accept = refuse()
    await open('/log', () => {})
    accept()
    await vi.runAllTimersAsync()
    expect(address.pathname + address.search).toBe('/playground?a=1')
    askBeforeLosing('playground', undefined)
  })

  test('does not repeat a change that fails for another reason', async () => {
    const { setParameters } = await load('location.ts')
    await open('/playground?a=1', () => {})
    const accept = refuse('DataCloneError')
    expect(() => setParameters('playground', { a: '2' })).toThrow(DOMException)
    expect(vi.getTimerCount()).toBe(0)
    accept()
  })
})

test('the address of a form is written in one notation when it is the first page', async () => {
  address = new URL('/attest?place=1,%202', address)
  const others = arrive
  await load('location.ts?first')
  arrive = others
  expect(address.search).toBe('?place=1%2C+2')
})

test('each form shows a transaction that was sent, although the storage is full', async () => {
  const setItem = vi.fn(() => {
    throw new DOMException('full', 'QuotaExceededError')
  })
  vi.stubGlobal('sessionStorage', { getItem: () => null, setItem, removeItem: () => {} })
  const { useSent } = await load('attest/sent.ts')
  const left = await open('/attest', () => useSent())
  const form = await open('/attest', () => useSent())
  const sent = { transactionHash: '0x12', chain: 'celo' }
  left.now[1](sent)
  expect(setItem).toHaveBeenCalledOnce()
  await expect.poll(() => form.now[0]).toEqual(sent)
  left.now[1](undefined)
  await expect.poll(() => form.now[0]).toBe(undefined)
})

test.each([
  ['', { chain: 'base-sepolia' }],
  ['?chain=celo', { chain: 'celo' }],
  ['?chain=42220', { chain: 'celo' }],
  ['?chain=Celo-Mainnet', { chain: 'celo' }],
  ['?chain=CELO', { chain: 'celo' }],
  ['?chain=Mine', { chain: 'mine' }],
  ['?chain=arbitrum', { unknown: 'arbitrum' }],
  ['?chain=nowhere', { unknown: 'nowhere' }],
])('a form with the address %j uses the chain %j', async (query, expected) => {
  const { geo } = await load('service.ts')
  const chains = [
    { id: 84532, slug: 'base-sepolia' },
    { id: 42220, slug: 'celo' },
    { id: 5, slug: 'mine' },
  ]
  const info = vi.spyOn(geo, 'info').mockResolvedValue({ chains })
  const { useChains } = await load('panel/chain-field.tsx')
  const choice = await open<any>(`/attest${query}`, () => useChains('attest'))
  await expect.poll(() => choice.now.chains).toEqual(chains)
  const { chain, unknown } = choice.now
  expect({ chain: chain?.slug, unknown }).toEqual(expected)
  info.mockRestore()
})
