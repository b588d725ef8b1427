import type { Chain } from '@geospatial-attestation/client'
import { useEffect, useId, useState } from 'preact/hooks'
import { parametersOf, setParameters, type Page } from '../location'
import { say } from '../messages'
import { Options } from '../options'
import { geo } from '../service'
import { FieldProblem } from './field'

/** Returns the chains of the service, and the one that the page's address names; by default the first one. */
export function useChains(page: Page, onFailure: (error: Error) => void) {
  const [chains, setChains] = useState<readonly Chain[]>([])
  useEffect(() => void geo.info().then((info) => setChains(info.chains), onFailure), [])
  const named = parametersOf(page).get('chain') ?? ''
  return { chains, chain: chains.find(({ id, slug }) => [String(id), slug].includes(named)) ?? chains[0] }
}

interface ChainFieldProps {
  page: Page
  /** empty until the service has returned them */
  chains: readonly Chain[]
  chain: Chain | undefined
  problem: string | undefined
  /** called before another chain is written to the address of the page */
  onChange: () => void
}
/** Chain of a form's request, which the address names. */
export function ChainField({ page, chains, chain, problem, onChange }: ChainFieldProps) {
  const id = useId()
  return (
    <label class="field">
      {say.place.chain}
      <select
        value={chain?.slug}
        aria-describedby={id}
        onChange={({ currentTarget }) => {
          onChange()
          setParameters(page, { chain: currentTarget.value })
        }}
      >
        <Options of={chains.map(({ slug }) => [slug, slug])} />
      </select>
      <FieldProblem id={id} sentence={problem} />
    </label>
  )
}
