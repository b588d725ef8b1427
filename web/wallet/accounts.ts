import { useEffect, useState } from 'preact/hooks'
import { followState } from './chain'
import { wallets } from './injected'

/** First accounts of the connected wallets of this browser. */
export function useAccounts(): string[] {
  const [accounts, setAccounts] = useState<Readonly<Record<string, string | undefined>>>({})
  useEffect(() => {
    const stops = wallets.value.map(({ id, provider }) =>
      followState(provider, ({ account }) => setAccounts((before) => ({ ...before, [id]: account }))),
    )
    return () => stops.forEach((stop) => stop())
  }, [wallets.value])
  return wallets.value.flatMap(({ id }) => accounts[id] ?? [])
}
