import type { Chain } from '@geospatial-attestation/client'
import { useLoaded } from '../loading'
import { say } from '../messages'
import type { FieldState } from '../panel/geometry-field'
import { recordOf, type Parsed } from '../panel/input'

/**
 * Geometries, records or notes of the fields, of which an operation has at most two. Looks up records by UID,
 * first on the chain. `isLooking` is true until the service has responded. `lookAgain` repeats this for those
 * that were not found.
 * @param named undefined until the chain of the address is known
 */
export function useRecords(
  parsed: readonly Parsed[],
  named: Chain | 'any' | undefined,
): { fields: readonly FieldState[]; isLooking: boolean; lookAgain: () => void } {
  const [first, second] = [useField(parsed[0], named), useField(parsed[1], named)]
  const all = [first, second].slice(0, parsed.length)
  return {
    fields: all.map(({ state }) => state),
    isLooking: all.some((each) => each.isLooking),
    lookAgain: () => all.forEach(({ state, retry }) => state.note !== undefined && retry()),
  }
}

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
  return { state: stateOf(), isLooking: uid !== undefined && isLoading && !failure, retry }
}
