/**
 * Contract reads: EAS, its schema registry and its proxy on each chain, and accounts that are contracts.
 *
 * chain-reader.ts reads them over JSON-RPC and shares equal reads. verifying-contract.ts decides if
 * signatures can be made for a contract. account.ts requests verdicts of accounts on signatures. wallet.ts
 * counts requests that a wallet signed. proxy-creation.ts holds the code of a proxy.
 */

export type { Block } from './chain-node'
export type { AttestedLog, OnchainAttestation, QuorumEpoch } from './chain-reader'
export { ChainReader } from './chain-reader'
export { learnSchema } from './location-schemas'
export { proxyCreation } from './proxy-creation'
export { VerifyingContract, lookAtEas, lookAtProxy, ownedBy } from './verifying-contract'
export { WalletTier } from './wallet'
