import { EvmBatchProcessor, type EvmBatchProcessorFields } from '@subsquid/evm-processor'
import * as eas from './abi/EAS'
import type { ConnectedChain } from './config'
import { LOCATION_SCHEMAS } from './location'

/** What to ask of a chain: Attested and Revoked of the location schemas, from its EAS, history from `gatewayUrl`, the head by RPC. */
export function makeProcessor({ chain, rpcUrl, headPollMs }: ConnectedChain, gatewayUrl: string) {
  return new EvmBatchProcessor()
    .setGateway(gatewayUrl)
    .setRpcEndpoint({ url: rpcUrl })
    .setRpcDataIngestionSettings({ headPollInterval: headPollMs })
    .setFinalityConfirmation(chain.finality)
    .setBlockRange({ from: chain.firstBlock })
    .setFields({ log: { transactionHash: true } })
    .addLog({
      address: [chain.eas],
      topic0: [eas.events.Attested.topic, eas.events.Revoked.topic],
      topic3: LOCATION_SCHEMAS.map((schema) => schema.uid),
    })
}

export type Fields = EvmBatchProcessorFields<ReturnType<typeof makeProcessor>>
