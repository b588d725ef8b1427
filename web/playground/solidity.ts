import type { Answer } from '@geospatial-attestation/client'
import { rowOf, TEXTS, UNITS, type OperationName } from '../../src/operations/table'

/** A contract that accepts exactly this answer; undefined if the Solidity kit has no function for it. */
export function solidityOf(
  { operation }: { operation: OperationName },
  answer: Answer,
  eas: string,
): string | undefined {
  const { attestation, inputRefs, result, delegatedAttestation: delegation } = answer
  const { units } = rowOf(operation)
  const { requires } = TEXTS[operation]
  if (!requires) return undefined
  const kind = units === undefined ? 'Boolean' : 'Numeric'
  const [, ...centimeters] = answer.operation.split(':')
  // The first word of the data is the signed integer. A number of the answer may differ from it above 2^53.
  const whole = units ? [BigInt(attestation.data.slice(0, 66))] : []
  const values = [...inputRefs, ...whole, ...centimeters].join(', ')
  const unit = units ? UNITS[units].payload.replace('_', ' ') : centimeters.length > 0 && 'centimeters'
  const requirement = `${(result === false && requires[1]) || requires[0]}(${values});${unit ? ` // ${unit}` : ''}`
  return `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {GeoAnswers} from "@geospatial-attestation/contracts/src/GeoAnswers.sol";
import {IEAS} from "@geospatial-attestation/contracts/src/eas/IEAS.sol";

contract TakesTheAnswer {
    using GeoAnswers for GeoAnswers.${kind}Answer;

    /// @notice Reverts unless the attestation \`uid\` is an answer of the service that says so.
    function check(bytes32 uid) external view {
        GeoAnswers.Terms memory terms = GeoAnswers.Terms({
            schema: ${attestation.schema},
            signer: ${attestation.attester},
            proxy: ${delegation.submission === 'proxy' ? delegation.contract : 'address(0)'},
            recipient: ${attestation.recipient},
            maxAge: 1 hours
        });
        GeoAnswers.read${kind}(IEAS(${eas}), uid, terms)
            .${requirement}
    }
}
`
}
