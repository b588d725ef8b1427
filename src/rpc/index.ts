/**
 * JSON-RPC: the endpoints of one chain, which replace each other on failure.
 *
 * rpc.ts implements the failover policy: `Rpc` has the endpoints, and each reader queries them through its
 * own `Route`. endpoint.ts is one endpoint with its health and its chain id. refusals.ts is the only file
 * that interprets the text of an endpoint's error.
 */

export { RpcError } from '@subsquid/rpc-client'
export { CLOSED } from './endpoint'
export { rpcClient } from './http'
export { registerRpcCalls } from './metrics'
export { hexNumber, Rpc, type Answered, type Route, type RpcCall } from './rpc'
export { allowedRange, isBatchRefused, isRevert, revertData } from './refusals'
