import type { Logger } from 'pino'
import { retry } from '../../src/retry'
import type { ServedChain } from '../compute'
import { apiConnections, type DatabaseServers } from '../store'
import { attesterStatement } from './sql'

/** Between two tries while the database or a node does not answer: longer and longer. */
const AGAIN_MS = { first: 10_000, most: 600_000 }

/**
 * Notes in the database whose attestations are answers of this service, for the indexers: our signer, the
 * others whose signatures are ours, and the proxy, where it takes these alone. Those that cannot sign for a
 * chain, such as a test account that everybody has, are not noted. Tries until all are noted or the signal
 * aborts. Never throws.
 */
export async function noteAttesters(
  servers: DatabaseServers,
  chains: Iterable<ServedChain>,
  log: Logger,
  signal?: AbortSignal,
): Promise<void> {
  const connections = apiConnections(1, {})
  await Promise.allSettled(
    [...chains].flatMap(({ attester, reader }) => {
      const { chain, address: ours, others, proxy } = attester
      /** @param firstBlock throws while the attester is not known to be ours */
      const note = (address: string, firstBlock: () => Promise<number>) =>
        retry(
          async () =>
            servers.query(
              connections,
              attesterStatement(chain.slug, address.toLowerCase(), await firstBlock()),
            ),
          {
            signal,
            attempts: Infinity,
            pauseMs: (attempt) => Math.min(AGAIN_MS.first * attempt, AGAIN_MS.most),
            onFailure: ({ message }, attempt) => {
              if (attempt === 1)
                log.warn(
                  { chain: chain.slug, attester: address, reason: message },
                  'the answers of this attester cannot be read yet',
                )
            },
          },
        )
      const firstOfSigner = async (signer: string) => {
        const refusal = await attester.direct.refusal()
        if (refusal !== undefined) throw new Error(refusal)
        return (await reader.unusedUntil(signer)) ?? 0
      }
      const firstOfProxy = async (contract: NonNullable<typeof proxy>) => {
        // It must be the contract that is configured: one that takes the signatures of its owner alone.
        await contract.known()
        const owner = await reader.proxyOwner(contract.address, true)
        if (attester.ours(owner) === undefined)
          throw new Error(`the owner of the proxy is ${owner}, no attester of this service`)
        return 0
      }
      return [
        ...[ours, ...others].map((signer) => note(signer, () => firstOfSigner(signer))),
        ...(proxy ? [note(proxy.address, () => firstOfProxy(proxy))] : []),
      ]
    }),
  )
}
