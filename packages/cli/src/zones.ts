// SPDX-License-Identifier: MIT
import type { AskFlags } from './ask'
import { EXIT, UsageError } from './exit'
import { readInput, readSource } from './inputs'
import { table } from './output'
import type { Session } from './session'

interface ZonesFlags extends AskFlags {
  prover?: string
  zoneSchema?: string
  uids?: string
}

/** Returns exit status 1 if the result is not complete. */
export async function zones(session: Session<ZonesFlags>, place: string): Promise<number> {
  const { options, geo, signal, print } = session
  const { prover, zoneSchema, uids: file, recipient, schema, submission } = options
  if ((file === undefined) === (prover === undefined && zoneSchema === undefined))
    throw new UsageError(
      'No zones were named. Set --prover, --zone-schema or both, or --uids with a file of UIDs.',
    )
  const set = {
    ...(file !== undefined && {
      uids: (await readSource(file, session)).split(/[\s,]+/).filter((uid) => uid !== ''),
    }),
    ...(prover !== undefined && { prover }),
    ...(zoneSchema !== undefined && { schema: zoneSchema }),
  }
  const chain = await session.chain()
  const found = await geo.zones(await readInput(place, session), set, {
    ...{ chain: chain.id, recipient, schema, submission, signal },
  })
  const { results, onBoundary, undecided, undecidedMore, complete } = found
  if (options.json) session.printJson(found)
  else
    for (const line of table([
      ...results.map(({ inputRefs }) => ['contains', inputRefs[0]!]),
      ...onBoundary.map((uid) => ['boundary', uid]),
      ...undecided.map(({ uid, reason }) => ['undecided', `${uid} ${reason}`]),
    ]))
      print(line)
  if (results.length === 0) session.note('No zone contains it.')
  if (!complete) session.note('The result is not complete: undecided zones may contain it.')
  if (undecidedMore) session.note('More zones than these have a location that cannot be read.')
  return complete ? EXIT.done : EXIT.no
}
