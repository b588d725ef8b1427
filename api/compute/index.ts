/**
 * POST /compute/v0: answers about geometries, signed for EAS.
 *
 * A computation passes routes.ts (checked by schemas/), compute.ts, resolve.ts (each input
 * becomes a geometry: given, attested on a chain, signed offchain, or fetched from a URI), measure.ts (the
 * kernel, in this thread or a worker) with the rows of the operations, answers.ts and attester.ts. The
 * attester signs for a contract: EAS at the nonce that api/contracts read, or its proxy. signers/ holds the
 * key, or calls a token or a service that holds it. earlier.ts signs an earlier answer again, or verifies it.
 * landed.ts finds where it landed.
 */

export { Attester, type ServedChain } from './attester'
export { Measurer } from './measure'
export { Resolver } from './resolve'
export { computeUnsigned, servedChain, type ComputeParts } from './compute'
export { COMPUTE_ENDPOINTS, computeRoutes, requestValidator } from './routes'
export {
  CHAIN_FIRST,
  CHAIN_ID,
  CLAIMS,
  COMPUTE_COMPONENTS,
  errorResponses,
  EXPIRATION,
  hash,
  hex,
  LogClaim,
  Problem,
  requestOf,
  SIGNATURE,
  WHOLE_NUMBER,
  type OperationRequest,
} from './schemas'
export { loadIdentity } from './signers'
