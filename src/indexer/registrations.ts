import { dataSlice } from 'ethers/utils'
import { events, functions } from '../abi/SchemaRegistry'
import * as eas from '../abi/EAS'
import type { LearnedLog } from '../chain'
import type { Chain } from '../chains'
import type { Route } from '../rpc'
import { ZERO_UID } from './bodies'

/** Registrations in a chain's SchemaRegistry, and the filters of the logs that an indexer reads. */

/** Number of getSchema calls per request. */
const CALLS_AT_ONCE = 100
/** Topic of the event Registered of EAS 0.26, whose log lacks the schema. */
const REGISTERED_LEGACY = '0x7d917fcbc9a29a9705ff9936ffa599500e4fd902e4486bae317414fe967b307c'
/** Topics of registrations, of all EAS versions. */
export const REGISTERED: readonly string[] = [events.Registered.topic, REGISTERED_LEGACY]

/** Filter for Attested and Revoked logs of the chain's EAS, of any schema. */
export function attestationFilter(chain: Chain) {
  return { address: [chain.eas], topic0: [eas.events.Attested.topic, eas.events.Revoked.topic] }
}

/** Filter for Registered logs of the chain's SchemaRegistry. */
export function registrationFilter(chain: Chain) {
  return { address: [chain.schemaRegistry], topic0: [...REGISTERED] }
}

/** Returns the account that a registration names, which EAS 0.26 stores in the data. */
export function registererOf({ topics, data }: LearnedLog): string {
  return dataSlice(topics[2] ?? data, 12, 32).toLowerCase()
}

interface RegisteredSchema {
  uid: string
  schema: string
  resolver: string
  revocable: boolean
}

/** Returns the schemas of these registrations, in order: from the log, or from the registry. */
export async function registeredSchemas(
  chain: Chain,
  route: Route,
  logs: readonly LearnedLog[],
): Promise<RegisteredSchema[]> {
  const known = logs.map(({ topics, data }) =>
    topics[0] === REGISTERED_LEGACY
      ? undefined
      : { ...events.Registered.decode({ topics: [...topics], data }).schema, uid: topics[1]! },
  )
  const lacking = logs.filter((_, i) => !known[i]).map(({ topics }) => topics[1]!)
  const read = new Map<string, RegisteredSchema>()
  for (let i = 0; i < lacking.length; i += CALLS_AT_ONCE) {
    const uids = lacking.slice(i, i + CALLS_AT_ONCE)
    const answers = await route.batchCall<string>(
      uids.map((uid) => ({
        method: 'eth_call',
        params: [{ to: chain.schemaRegistry, data: functions.getSchema.encode({ uid }) }, 'latest'],
      })),
    )
    for (const [n, answer] of answers.entries()) {
      const content = functions.getSchema.decodeResult(answer)
      if (content.uid === ZERO_UID) {
        route.turn()
        throw new Error(`a log announces the schema ${uids[n]}, but the registry does not have it`)
      }
      read.set(uids[n]!, { ...content, uid: uids[n]! })
    }
  }
  return logs.map(({ topics }, i) => known[i] ?? read.get(topics[1]!)!)
}
