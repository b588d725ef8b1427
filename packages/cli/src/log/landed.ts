// SPDX-License-Identifier: MIT
import type { recomputed } from './entries'
import type { State } from './state'

/** Seconds between two tries: an answer with raw inputs never resolves, and each try reads the chain. */
const AGAIN_SECONDS = 3_600

/** Maximum number of answers per call, because others wait for it. */
const MOST = 200

/**
 * Recomputes landed answers that could not be recomputed when they were logged: a service may log an answer
 * before it attests the input, whose UID it can predict. An answer that is still unresolved is tried again
 * until its content is forgotten.
 * @param recompute returns undefined if it failed, such as for a chain that cannot be read
 */
export async function recomputeLanded(
  { landed }: Pick<State, 'landed'>,
  now: number,
  recompute: (uid: string, chainId: number) => Promise<Awaited<ReturnType<typeof recomputed>> | undefined>,
  onDifference: (index: number, reason: string) => void,
): Promise<void> {
  const failed = new Set<number>()
  const due = Object.entries(landed).filter(([, { tried = -Infinity }]) => now >= tried + AGAIN_SECONDS)
  for (const [uid, entry] of due.slice(0, MOST)) {
    const { index, chainId } = entry
    if (failed.has(chainId)) continue
    const checked = await recompute(uid, chainId)
    if (!checked) failed.add(chainId)
    else if (checked.result === 'unresolved') entry.tried = now
    else {
      if (checked.result === 'differs') onDifference(index, checked.reason)
      delete landed[uid]
    }
  }
}
