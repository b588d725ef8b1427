import type { Chain } from '@geospatial-attestation/client'
import { FieldProblem } from './field-problem'

/** The chain of what a form asks for. */
export function ChainField({
  chains,
  chain,
  problem,
  onChain,
}: {
  /** empty until the service has told them */
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
