import { TypedDataEncoder } from 'ethers/hash'
import { typedDataOf, type AttestDomain, type AttestMessage, type AttestTypedData } from './delegated'
import { QUORUM_FIELDS } from './layouts'

/** Content of an attestation that the operators of a quorum sign (GeoQuorum.sol, struct Answer). */
export interface QuorumAnswer extends Pick<
  AttestMessage,
  'schema' | 'recipient' | 'revocable' | 'refUID' | 'data'
> {
  /** Unix seconds; 0 means never */
  expirationTime: number
  /** Unix seconds; the last time at which the contract accepts the answer */
  deadline: number
  /** Sequence number of the epoch, which identifies the operator set. */
  epoch: number
}

/** EIP-712 digest that operators sign, equal to the contract's `digestOf`. */
export function quorumDigest(domain: AttestDomain, answer: QuorumAnswer): string {
  return TypedDataEncoder.hash(domain, { Answer: QUORUM_FIELDS }, answer)
}

/** Typed data of which `quorumDigest` is the digest. */
export function quorumTypedData(domain: AttestDomain, answer: QuorumAnswer): AttestTypedData {
  return typedDataOf(domain, 'Answer', QUORUM_FIELDS, answer)
}

/** Functions of GeoQuorum that clients call, and its errors, in the form that ethers and viem parse. */
export const QUORUM_ABI = [
  'function land((bytes32 schema, address recipient, uint64 expirationTime, bool revocable, bytes32 refUID, bytes data, uint64 deadline, uint32 epoch) answer, uint256 signers, bytes signatures) returns (bytes32)',
  'function digestOf((bytes32 schema, address recipient, uint64 expirationTime, bool revocable, bytes32 refUID, bytes data, uint64 deadline, uint32 epoch) answer) view returns (bytes32)',
  'function eas() view returns (address)',
  'function currentEpoch() view returns (uint32)',
  'function latestEpoch() view returns (uint32)',
  'function epochOf(uint32 epoch) view returns ((uint64 validFrom, uint64 validUntil, uint8 threshold, address[] operators))',
  'function remove(uint32 epoch, uint256 index)',
  'error DeadlinePassed(uint256 deadline)',
  'error AlreadyUsed(bytes32 key)',
  'error UnknownEpoch(uint256 epoch)',
  'error EpochNotValid(uint256 epoch, uint256 validFrom, uint256 validUntil)',
  'error TooFewSigners(uint256 actual, uint256 threshold)',
  'error UnknownOperator(uint256 index)',
  'error WrongSignatureLength(uint256 actual, uint256 expected)',
  'error WrongSignature(uint256 index)',
] as const
