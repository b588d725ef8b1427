/**
 * Signatures of one operator for a quorum (/quorum/v0).
 *
 * A GeoQuorum contract (packages/contracts) attests an answer that k of n operators signed. A request passes
 * routes.ts (checked by schemas.ts) and sign.ts, which computes the answer as api/compute does, but with the
 * timestamp, the deadline and the expiration of the request, so that all operators sign the same bytes.
 * epochs.ts reads the operator sets of the contract.
 */

export { hasQuorum } from './epochs'
export { QUORUM_COMPONENTS } from './schemas'
export { noRefusals, quorumRoutes } from './routes'
