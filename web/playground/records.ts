import type { Chain } from '@geospatial-attestation/client'
import { useEffect } from 'preact/hooks'
import { useLoaded } from '../loading'
import { parametersOf, setParameters } from '../location'
import { say } from '../messages'
import type { useChains } from '../panel/chain-field'
import type { FieldState } from '../panel/geometry-field'
import { recordOf, type Parsed } from '../panel/input'

/** True if the address of the page names a chain. */
export const hasChain = (): boolean => parametersOf('playground').has('chain')

/**
 * Geometries, records or notes of the fields, of which an operation has at most two. Looks up records by UID,
 * first on the chain. `lookAgain` repeats this for those that were not found. `isUnsure` is true until the
 * chain of the question is known, which is that of a record unless the address names one. `unread` is the
 * index of a field whose record, and so the chain, cannot be looked up; -1 if there is none.
 */
export function useRecords(
  parsed: readonly Parsed[],
  { chain, unknown, isLoading }: ReturnType<typeof useChains>,
): { fields: readonly FieldState[]; isUnsure: boolean; unread: number; lookAgain: () => void } {
  const named = hasChain() && unknown === undefined ? chain : 'any'
  const [first, second] = [useField(parsed[0], named), useField(parsed[1], named)]
  const all = [first, second].slice(0, parsed.length)
  const fields = all.map(({ state }) => state)
  useChainOfRecord(fields)
  const hasRecord = all.some(({ state, isLooking }) => isLooking || state.record)
  return {
    fields,
    isUnsure: isLoading || (!hasChain() && hasRecord),
    unread: hasChain() ? -1 : all.findIndex(({ failure, isLooking }) => failure && !isLooking),
    lookAgain: () => all.forEach(({ state, retry }) => state.note !== undefined && retry()),
  }
}

/**
 * Looks up the record that a field names, until the service returns it or refuses the request.
 * @param named undefined until the chain of the address is known
 */
function useField(parsed: Parsed | undefined, named: Chain | 'any' | undefined) {
  const uid = parsed?.kind === 'uid' ? parsed.uid : undefined
  const chain = named === 'any' ? undefined : named?.slug
  const { data, isLoading, failure, retry } = useLoaded(
    uid !== undefined && named ? `${chain} ${uid}` : undefined,
    async () => ({ uid, record: await recordOf(uid!, chain) }),
  )
  const stateOf = (): FieldState => {
    if (parsed?.kind === 'geometry') return { geometry: parsed.geometry }
    if (uid === undefined) return {}
    const record = data?.uid === uid ? data.record : undefined
    if (record) return { record, ...(record.geometry && { geometry: record.geometry }) }
    return { note: failure?.text ?? (isLoading ? say.playground.loading : say.playground.notIndexed) }
  }
  const isLooking = uid !== undefined && (isLoading || failure?.retryIn !== undefined)
  return { state: stateOf(), isLooking, failure, retry }
}

/** Selects the chain of the record that a field names, unless the address names a chain. */
function useChainOfRecord(fields: readonly FieldState[]): void {
  const chain = fields.find(({ record }) => record)?.record?.chain
  useEffect(() => {
    if (chain !== undefined && !hasChain()) setParameters('playground', { chain })
  }, [chain])
}
