import type { Logger } from 'pino'
import { retry } from '../../src/retry'
import type { ServedChain } from '../compute'
import { apiConnections, type DatabaseServers } from '../store'
import { attesterStatement } from './sql'

/**
 * Milliseconds between two attempts while the database or an RPC endpoint is unavailable: the pause grows up
 * to `most`.
 */
const AGAIN_MS = { first: 10_000, most: 600_000 }

/**
 * Stores in the database, for the indexers, the attesters whose attestations are answers of this service: the
 * signer, other accounts whose signatures this service accepts as its own, and the proxy if it accepts only
 * these signatures. Leaves out attesters that may not sign for a chain, such as a well-known test account.
 * Retries until all are stored or the signal aborts. Never throws.
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
      /** @param firstBlock throws while it is unknown if the attester belongs to this service */
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
                  'could not list the answers of this attester yet',
                )
            },
          },
        )
      const firstOfSigner = async (signer: string) => {
        const refusal = await attester.direct.refusal()
        if (refusal !== undefined) throw new Error(refusal)
        if ((await attester.ours(signer)) === undefined)
          throw new Error('it is a publicly known test account, which counts on local chains only')
        return (await reader.unusedUntil(signer)) ?? 0
      }
      const firstOfProxy = async (contract: NonNullable<typeof proxy>) => {
        // Checks that the contract is the configured one: it accepts the signatures of its owner alone.
        await contract.known()
        const owner = await reader.proxyOwner(contract.address, true)
        if ((await attester.ours(owner)) === undefined)
          throw new Error(`the owner of the proxy, ${owner}, is not an attester of this service`)
        return 0
      }
      return [
        ...[ours, ...others].map((signer) => note(signer, () => firstOfSigner(signer))),
        ...(proxy ? [note(proxy.address, () => firstOfProxy(proxy))] : []),
      ]
    }),
  )
}
