/** Local nodes that simulate the chains of the table, with the real contracts. Start at node.ts. */
export { attest, attestPlaces, locationRequest, registerSchema, request, revoke } from './attestations'
export { LOCAL_PROXY_NAME, localVersion, MULTICALL3 } from './contracts'
export { bringToPresent, LOCAL_CHAIN, LOCAL_SIGNER_KEY, mined, testAccount } from './local-chain'
export type { LocalChain } from './local-chain'
export { deployQuorum } from './quorum'
export { mineOn, missingNodeBinary, nodeBinary, startLocalChain, type LocalChainOptions } from './node'
