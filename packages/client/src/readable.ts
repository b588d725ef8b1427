// SPDX-License-Identifier: MIT
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { ZERO_HASH, type AttestationData } from './eas'
import { InvalidInputError, UncheckedError, messageOf } from './errors'
import type { Context } from './context'
import { invalidPlace } from './geojson'
import { signOffchain } from './offchain'
import type { PlacePath } from './place'
import type { Hex } from './reader'
import type { Answer, BatchAnswer, Chain } from './types'

/**
 * Maximum number of questions of a batch, and maximum bytes of their payloads: hex needs two characters a
 * byte, and the service accepts a body of at most 5 MiB.
 */
const AT_ONCE = { questions: 20, bytes: 2_000_000 }
/** A domain version that every service accepts. It is not compared with the contract's version. */
const DOMAIN_VERSION = '1.0.0'
/** Matches errors about a rejected offchain attestation, or about the geometry of one, named by its UID. */
const PROBLEM =
  /^(?:operations\[(\d+)\][:.] ?)?(?:from: offchain attestation refused: ([^]*)|(?:from: )?attestation 0x\w{64}(\S*): ([^]*))/
const ATTESTATION = /attestation 0x\w{64}/g

/**
 * Checks that the service can read a geometry from each payload by its schema, and can measure it. It asks
 * for the distance to a point from each payload, wrapped in an offchain attestation of a temporary key, so
 * the service reads the exact bytes that will be attested.
 *
 * Throws an InvalidInputError for a place that the service cannot read, and an UncheckedError if the service
 * does not answer.
 */
export async function checkReadable(
  { request }: Context,
  chain: Chain,
  schema: Hex,
  contents: readonly AttestationData[],
  paths: readonly PlacePath[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const { address, signTypedData } = privateKeyToAccount(generatePrivateKey())
  const key = { signTypedData: (typed: object) => signTypedData(typed as never) }
  const places = await Promise.all(
    contents.map(async ({ data }, i) => {
      const { attestation } = await signOffchain(key, address, chain, DOMAIN_VERSION, {
        ...{ recipient: address, expirationTime: 0n, revocable: true, refUID: ZERO_HASH },
        ...{ schema, time: 0, data },
      })
      const question = { from: { attestation }, to: { type: 'Point', coordinates: [0, 0] } }
      return { at: paths[i]!, bytes: data.length / 2, question }
    }),
  )
  const fits = (list: readonly { bytes: number }[]) =>
    list.length <= AT_ONCE.questions && list.reduce((sum, { bytes }) => sum + bytes, 0) <= AT_ONCE.bytes
  for (const list of split(places, fits))
    try {
      if (list.length === 1) await request<Answer>('distance', list[0]!.question, { chain: chain.id, signal })
      else {
        const operations = list.map(({ question }) => ({ operation: 'distance', ...question }))
        await request<BatchAnswer>('batch', { operations }, { chain: chain.id, signal })
      }
    } catch (error) {
      signal?.throwIfAborted()
      const found = error instanceof InvalidInputError && PROBLEM.exec(error.detail)
      if (found) {
        const [, i = 0, problem, within = '', ofGeometry = ''] = found
        const { path, location } = list[Number(i)]!.at
        if (problem !== undefined) throw invalidPlace(path, problem)
        throw invalidPlace(location + within, ofGeometry.replace(ATTESTATION, location))
      }
      throw new UncheckedError(
        `The service could not check if it can read the place: ${messageOf(error)}. Nothing was ` +
          'sent; { unchecked: true } attests without asking.',
        { cause: error },
      )
    }
}

/** Splits items into lists of neighbours that fit. An item that does not fit alone has its own list. */
export function split<T>(items: readonly T[], fits: (list: readonly T[]) => boolean): T[][] {
  const lists: T[][] = []
  for (const item of items) {
    const last = lists.at(-1)
    if (last && fits([...last, item])) last.push(item)
    else lists.push([item])
  }
  return lists
}
