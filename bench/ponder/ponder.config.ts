import { createConfig } from 'ponder'
import { easAbi } from './abi'

// Ponder starts with 20 requests a second per endpoint and raises the rate by 5 % from time to time; no
// setting changes it (src/rpc/index.ts in 0.16). An endpoint that is listed several times gets this allowance
// several times, so that the local node, which has no limits, is queried as fast as Ponder can. RPC_COPIES=1
// shows the result for a user with one endpoint.
const { RPC_URL, RPC_COPIES, EAS_ADDRESS, CHAIN_ID, START_BLOCK, SCHEMA_UIDS } = process.env as Record<
  string,
  string
>
const schemaUID = SCHEMA_UIDS!.split(',') as `0x${string}`[]

export default createConfig({
  chains: { local: { id: Number(CHAIN_ID), rpc: Array<string>(Number(RPC_COPIES)).fill(RPC_URL!) } },
  contracts: {
    EAS: {
      chain: 'local',
      abi: easAbi,
      address: EAS_ADDRESS as `0x${string}`,
      startBlock: Number(START_BLOCK),
      filter: [
        { event: 'Attested', args: { schemaUID } },
        { event: 'Revoked', args: { schemaUID } },
      ],
    },
  },
})
