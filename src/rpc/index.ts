/**
 * JSON-RPC: the endpoints of one chain, which stand in for each other. Everything that calls a node goes
 * through here, in the indexer and in the API.
 *
 * rpc.ts holds the failover policy: `Rpc` knows the endpoints, and each reader asks them through a `Route` of
 * its own. endpoint.ts is one endpoint with its health and its chain id. refusals.ts is the only place that
 * reads the words of a node's error. metrics.ts tells Prometheus how many calls there were.
 */

export { RpcError } from '@subsquid/rpc-client'
export { CLOSED } from './endpoint'
export { rpcClient } from './http'
export { registerRpcCalls } from './metrics'
export { hexNumber, Rpc, type Answered, type Route, type RpcCall } from './rpc'
export { allowedRange, isBatchRefused } from './refusals'
