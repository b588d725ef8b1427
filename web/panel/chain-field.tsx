import type { Chain } from '@geospatial-attestation/client'
import { useId } from 'preact/hooks'
import { chainNamed } from '../../src/chains'
import { useLoaded, type Failure } from '../loading'
import { parametersOf, setParameters, type Page } from '../location'
import { say } from '../messages'
import { Options } from '../options'
import { geo } from '../service'
import { FieldProblem } from './field'

/**
 * Returns the chains of the service, and the one that the page's address names by its slug, an alias or its
 * ID: by default the first one. A name of another chain is returned as `unknown`, and selects none. The list
 * is requested until the service returns it.
 */
export function useChains(page: Page) {
  const {
    data: chains = [],
    isLoading,
    failure,
  } = useLoaded('chains', async (signal): Promise<readonly Chain[]> => (await geo.info({ signal })).chains)
  const named = parametersOf(page).get('chain')
  if (!named) return { chains, chain: chains[0], isLoading, failure }
  const slug = chainNamed(named)?.slug ?? named.toLowerCase()
  const chain = chains.find((each) => each.slug === slug || String(each.id) === named)
  return { chains, chain, isLoading, failure, ...(chains.length > 0 && !chain && { unknown: named }) }
}

interface ChainFieldProps {
  page: Page
  /** empty until the service has returned them */
  chains: readonly Chain[]
  chain: Chain | undefined
  /** name in the address that is not one of a chain of the service */
  unknown?: string
  /** failure of the last request for the chains */
  failure: Failure | undefined
  problem?: string | undefined
  /** called before another chain is written to the address of the page */
  onChange: () => void
}
/** Chain of a form's request, which the address names. */
export function ChainField({ page, chains, chain, unknown, failure, problem, onChange }: ChainFieldProps) {
  const id = useId()
  const sentence = unknown === undefined ? (failure?.text ?? problem) : say.place.unknownChain(unknown)
  return (
    <label class="field">
      {say.place.chain}
      <select
        value={unknown ?? chain?.slug}
        aria-invalid={sentence !== undefined}
        aria-describedby={id}
        onChange={({ currentTarget }) => {
          onChange()
          setParameters(page, { chain: currentTarget.value })
        }}
      >
        {unknown !== undefined && <Options of={[unknown]} />}
        <Options of={chains.map(({ slug }) => [slug, slug])} />
      </select>
      <FieldProblem id={id} sentence={sentence} />
    </label>
  )
}
