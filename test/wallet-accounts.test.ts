import path from 'node:path'
import { expect, test, vi } from 'vitest'
import { rendered, settled } from './hooks'

/** The modules without their types: this project lacks those of browsers. */
const [ACCOUNTS, INJECTED] = ['accounts', 'injected'].map((name) =>
  path.resolve(`web/wallet/${name}.ts`),
) as [string, string]

test('a page shows the account to which a wallet was switched last', async () => {
  // Modules of pages read their address and language when they are loaded.
  vi.stubGlobal('location', new URL('http://127.0.0.1/'))
  vi.stubGlobal('navigator', { languages: ['en'] })
  vi.stubGlobal('document', { documentElement: {} })
  vi.stubGlobal('addEventListener', () => {})
  vi.stubGlobal('dispatchEvent', () => {})
  const { useAccounts } = (await import(ACCOUNTS)) as { useAccounts: () => string[] }
  const { wallets } = (await import(INJECTED)) as { wallets: { value: readonly object[] } }
  vi.unstubAllGlobals()
  const responses: ((accounts: string[]) => void)[] = []
  const listeners = new Set<() => void>()
  const provider = {
    request: ({ method }: { method: string }) =>
      method === 'eth_accounts' ? new Promise((resolve) => responses.push(resolve)) : Promise.resolve('0x1'),
    on: (event: string, listener: () => void) => event === 'accountsChanged' && listeners.add(listener),
    removeListener: (_: string, listener: () => void) => listeners.delete(listener),
  }
  const before = wallets.value
  wallets.value = [{ id: 'one', name: 'One', provider }]
  let accounts: string[] = []
  const Page = () => {
    accounts = useAccounts()
    return null
  }
  const remove = await rendered(Page, {})
  try {
    await expect.poll(() => responses.length).toBe(1)
    for (const listener of listeners) listener()
    responses[1]!(['0xb'])
    responses[0]!(['0xa'])
    await expect.poll(() => accounts).toEqual(['0xb'])
    await settled()
    expect(accounts).toEqual(['0xb'])
  } finally {
    remove(null)
    wallets.value = before
  }
  await expect.poll(() => listeners.size).toBe(0)
})

test('a wallet that announces itself again keeps its position', async () => {
  let announce = (_: object) => {}
  vi.stubGlobal('location', new URL('http://127.0.0.1/'))
  vi.stubGlobal('navigator', { languages: ['en'] })
  vi.stubGlobal('document', { documentElement: {} })
  vi.stubGlobal('addEventListener', (_: string, listener: typeof announce) => (announce = listener))
  vi.stubGlobal('dispatchEvent', () => {})
  vi.resetModules()
  const { wallets } = (await import(INJECTED)) as { wallets: { value: readonly { name: string }[] } }
  vi.unstubAllGlobals()
  for (const [uuid, name] of ['1 One', '2 Two', '1 Renamed'].map((each) => each.split(' ')))
    announce({ detail: { info: { uuid, name }, provider: {} } })
  expect(wallets.value.map(({ name }) => name)).toEqual(['Renamed', 'Two'])
})
