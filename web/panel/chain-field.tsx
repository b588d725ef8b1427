import type { Chain } from '@geospatial-attestation/client'
import { useEffect, useState } from 'preact/hooks'
import { here, setParameters } from '../location'
import { say } from '../messages'
import { geo } from '../service'
import { FieldProblem } from './field'

/** Chains of the service, and the chain that the address names by slug or id, otherwise the first one. */
export function useChains(onFailure: (error: Error) => void): {
  chains: readonly Chain[]
  chain: Chain | undefined
} {
  const [chains, setChains] = useState<readonly Chain[]>([])
  useEffect(() => void geo.info().then((info) => setChains(info.chains), onFailure), [])
  const named = here.value.parameters.get('chain') ?? ''
  return { chains, chain: chains.find(({ id, slug }) => [String(id), slug].includes(named)) ?? chains[0] }
}

/** Chain of a form's request, which the address names. */
export function ChainField({
  chains,
  chain,
  problem,
  onChange,
}: {
  /** empty until the service has returned them */
  chains: readonly Chain[]
  chain: Chain | undefined
  problem: string | undefined
  /** called before the address names another chain */
  onChange: () => void
}) {
  return (
    <label class="field">
      {say.place.chain}
      <select
        value={chain?.slug}
        aria-describedby="problem-chain"
        onChange={({ currentTarget }) => {
          onChange()
          setParameters({ chain: currentTarget.value })
        }}
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
