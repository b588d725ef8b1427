/**
 * Outgoing HTTP to hosts that others name: only public addresses, and only as docs/spec/trust.md 3 says.
 *
 * fetcher.ts gets documents over https or, with ipfs.ts, from IPFS gateways; sender.ts posts to webhooks.
 * Calls of JSON-RPC endpoints are in src/rpc.
 */

export { SafeFetcher } from './fetcher'
export { loadIpfs } from './ipfs'
export { SafeSender } from './sender'
