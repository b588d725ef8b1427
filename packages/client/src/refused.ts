// SPDX-License-Identifier: MIT
import { decodeAbiParameters } from 'viem'
import { contractError, fieldsOf, selector, selectorOf } from './eas'
import type { RevertedError } from './reader'

/** Describes the errors with which contracts revert. The module is loaded when a contract reverts. */

/** Errors of GeoQuorum, and of resolvers that are built with packages/contracts. */
const RESOLVER_ERRORS = new Map(
  [
    'UnknownAttestation(bytes32 uid)',
    'WrongSchema(bytes32 actual,bytes32 expected)',
    'WrongAttester(address actual,address expected)',
    'WrongProxyAttester(address actual,address expected)',
    'WrongProxyOwner(address actual,address expected)',
    'WrongProxyEAS(address actual,address expected)',
    'WrongRecipient(address actual,address expected)',
    'AnswerRevoked(uint64 revocationTime)',
    'AnswerExpired(uint64 expirationTime)',
    'AnswerTooOld(uint256 timestamp,uint256 oldest)',
    'AnswerFromFuture(uint256 timestamp,uint256 newest)',
    'WrongOperation(string actual,string expected)',
    'WrongUnits(string actual,string expected)',
    'WrongInputCount(uint256 actual,uint256 expected)',
    'WrongInput(uint256 index,bytes32 actual,bytes32 expected)',
    'WrongResult(bool actual,bool expected)',
    'ResultTooLarge(uint256 actual,uint256 most)',
    'ResultTooSmall(uint256 actual,uint256 least)',
    'UnknownPlace(bytes32 uid)',
    'WrongPlaceSchema(bytes32 actual,bytes32 expected)',
    'WrongProver(address actual,address expected)',
    'WrongPlaceRecipient(address actual,address expected)',
    'PlaceRevoked(uint64 revocationTime)',
    'PlaceExpired(uint64 expirationTime)',
    'PlaceTooOld(uint64 time,uint256 oldest)',
    'UnknownEventTime(bytes32 schema)',
    'ObservedTooEarly(uint256 time,uint256 from)',
    'ObservedTooLate(uint256 time,uint256 to)',
    'InvalidPosition(int256 longitudeE7,int256 latitudeE7)',
    'NotEAS(address caller)',
    'MissingAddress()',
    'MissingRecipient()',
    'AlreadyUsed(bytes32 key)',
    'DeadlinePassed(uint256 deadline)',
    'NotOwner(address sender)',
    'MayNotRemove(address sender)',
    'NotCurrentEpoch(uint256 epoch,uint256 current)',
    'WrongThreshold(uint256 threshold,uint256 operators)',
    'TooManyOperators(uint256 operators)',
    'OperatorsNotAscending(uint256 index)',
    'WrongPeriod(uint256 validFrom,uint256 validUntil)',
    'NoticeTooShort(uint256 validFrom,uint256 earliest)',
    'UnknownEpoch(uint256 epoch)',
    'EpochNotValid(uint256 epoch,uint256 validFrom,uint256 validUntil)',
    'TooFewSigners(uint256 actual,uint256 threshold)',
    'UnknownOperator(uint256 index)',
    'WrongSignatureLength(uint256 actual,uint256 expected)',
    'WrongSignature(uint256 index)',
  ].map((written) => {
    const [, name = '', list = ''] = /^(\w+)\((.*)\)$/.exec(written)!
    const parameters = list === '' ? [] : fieldsOf(list)
    return [selector(`${name}(${parameters.map(({ type }) => type).join()})`), { name, parameters }] as const
  }),
)

/** Errors of `require` and of the Solidity compiler (Solidity, "Error handling"). */
const REVERTS = new Map([
  [selector('Error(string)'), fieldsOf('string reason')],
  [selector('Panic(uint256)'), fieldsOf('uint256 panic')],
])

/**
 * Describes the error with which a contract reverted. `name` is known for errors of EAS and of contracts
 * built with packages/contracts. `text` includes the error's values as far as they are known. Strings in the
 * error are untrusted: they are quoted, and control characters are replaced.
 */
export function refusedWith(error: RevertedError): { name: string | undefined; text: string } {
  const name = contractError(error) ?? RESOLVER_ERRORS.get(selectorOf(error)!)?.name
  return { name, text: textOf(error, name) }
}
function textOf(error: RevertedError, known: string | undefined): string {
  const { data, message } = error
  const selected = selectorOf(error)
  const parameters = selected && (RESOLVER_ERRORS.get(selected)?.parameters ?? REVERTS.get(selected))
  if (!data || data.length < 10) return message
  try {
    const values = decodeAbiParameters(parameters ?? [], `0x${data.slice(10)}`)
    const fields = (parameters ?? []).map(({ name }, i) => `${name}: ${shown(values[i])}`).join(', ')
    if (known !== undefined) return fields ? `${known} (${fields})` : known
    if (fields) return fields
  } catch {
    if (known !== undefined) return known
  }
  return `an error of another contract, such as the schema's resolver: ${data.length > 140 ? `${data.slice(0, 138)}...` : data}`
}
function shown(value: unknown): string {
  if (typeof value !== 'string') return String(value)
  return /^0x[0-9a-f]*$/i.test(value)
    ? value
    : JSON.stringify(value.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, ' '))
}
