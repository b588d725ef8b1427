/**
 * Outgoing HTTP to hosts that others name: only to public addresses, by the rules of docs/spec/trust.md 3.
 *
 * fetcher.ts gets documents over https or, with ipfs.ts, from IPFS gateways. sender.ts posts to webhooks.
 * Calls of RPC endpoints are in src/rpc.
 */

export { SafeFetcher } from './fetcher'
export { loadIpfs } from './ipfs'
export { SafeSender } from './sender'
