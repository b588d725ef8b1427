import type { Chain } from '@geospatial-attestation/client'
import { useEffect, useState } from 'preact/hooks'
import { here } from '../location'
import { geo } from '../service'
import { FieldProblem } from './field-problem'

/** Chains of the service, and the one that the address names, by slug or id, otherwise the first. */
export function useChains(onFailure: (error: Error) => void): {
  chains: readonly Chain[]
  chain: Chain | undefined
} {
  const [chains, setChains] = useState<readonly Chain[]>([])
  useEffect(() => void geo.info().then((info) => setChains(info.chains), onFailure), [])
  const named = here.value.parameters.get('chain') ?? ''
  return { chains, chain: chains.find(({ id, slug }) => [String(id), slug].includes(named)) ?? chains[0] }
}

/** Chain of a form's request. */
export function ChainField({
  chains,
  chain,
  problem,
  onChain,
}: {
  /** empty until the service has returned them */
  chains: readonly Chain[]
  chain: Chain | undefined
  problem: string | undefined
  onChain: (slug: string) => void
}) {
  return (
    <label class="field">
      Chain
      <select
        value={chain?.slug}
        aria-describedby="problem-chain"
        onChange={({ currentTarget }) => onChain(currentTarget.value)}
      >
        {chains.map(({ slug }) => (
          <option key={slug} value={slug}>
            {slug}
          </option>
        ))}
      </select>
      <FieldProblem id="problem-chain" sentence={problem} />
    </label>
  )
}
