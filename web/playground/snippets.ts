import type { Answer } from '@geospatial-attestation/client'
import { BASE } from '../service'
import { rowOf, TEXTS, UNITS } from '../../src/operations/table'
import { bodyOf, type Question } from './question'

/** The question as a curl command. */
export function curlOf(question: Question): string {
  const body = JSON.stringify(bodyOf(question)).replaceAll(`'`, `'\\''`)
  return `curl -s ${BASE}/compute/v0/${question.operation} -H 'content-type: application/json' -d '${body}'`
}

/** The question as a TypeScript program, in which the reader defines `wallet`. */
export function typescriptOf({ operation, inputs, numbers, chainId }: Question): string {
  const { inputs: places, units } = rowOf(operation)
  const values = places.map(({ name }, i) => `const ${name}: Input = ${JSON.stringify(inputs[i])}`)
  const parameters = [...places.map(({ name }) => name), ...numbers]
  return [
    `import { createGeo, type Input } from '@geospatial-attestation/client'`,
    '',
    `const geo = createGeo({ url: '${BASE}', chain: ${chainId} })`,
    ...values,
    `const answer = await geo.${operation}(${parameters.join(', ')})`,
    `console.log(answer.result${units ? ', answer.units' : ''})`,
    `// const { uid } = await geo.land(answer, wallet)`,
    '',
  ].join('\n')
}

/**
 * A contract that accepts exactly this answer, by a function of the Solidity kit; undefined if the kit has no
 * function for the operation.
 */
export function solidityOf({ operation }: Question, answer: Answer, eas: string): string | undefined {
  const { attestation, inputRefs, result } = answer
  const { units } = rowOf(operation)
  const { requires } = TEXTS[operation]
  if (!requires) return undefined
  const kind = units === undefined ? 'Boolean' : 'Numeric'
  const [, ...centimeters] = answer.operation.split(':')
  const whole = units ? [BigInt(Math.round(Number(result) * UNITS[units].perAnswerUnit))] : []
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
            proxy: address(0),
            recipient: ${attestation.recipient},
            maxAge: 1 hours
        });
        GeoAnswers.read${kind}(IEAS(${eas}), uid, terms)
            .${requirement}
    }
}
`
}
