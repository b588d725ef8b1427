import type { Logger } from 'pino'
import { retry } from '../../src/retry'
import type { ServedChain } from '../compute'
import { apiConnections, type DatabaseServers } from '../records'
import { attesterStatement } from './sql'

/** Between two tries while the database or a node does not answer. */
const AGAIN_MS = 10_000

/**
 * Notes in the database whose attestations are answers of this service, for the indexers: our signer, the
 * others whose signatures are ours, and the proxy, which takes these alone. Goes on until all are noted.
 * Never throws.
 */
export async function noteAttesters(
  servers: DatabaseServers,
  chains: Iterable<ServedChain>,
  log: Logger,
): Promise<void> {
  const connections = apiConnections(1, {})
  const note = (chain: string, address: string, firstBlock: number) =>
    servers.query(connections, attesterStatement(chain, address.toLowerCase(), firstBlock))
  await Promise.all(
    [...chains].map(({ attester, reader }) => {
      const { chain, address, others, proxy } = attester
      let said = false
      return retry(
        async () => {
          for (const signer of [address, ...others]) {
            // Of an attester that no block up to this one has heard of, no history is read.
            const { number } = await reader.block('latest')
            const isNew = (await attester.nonceOf(signer, true)) === 0
            await note(chain.slug, signer, isNew ? Math.max(0, number - chain.finality) : 0)
          }
          if (!proxy) return
          // Its answer must come from the contract that is configured: one that takes our signatures alone.
          await proxy.known()
          await note(chain.slug, proxy.address, 0)
        },
        {
          attempts: Infinity,
          pauseMs: () => AGAIN_MS,
          onFailure: ({ message }) => {
            if (!said)
              log.warn({ chain: chain.slug, reason: message }, 'whose answers are read cannot be noted yet')
            said = true
          },
        },
      )
    }),
  )
}
