import type { Answer } from '@geospatial-attestation/client'
import { BASE } from '../service'
import { bodyOf, OPERATIONS, type Question } from './question'

/** The question for a shell. */
export function curlOf(question: Question): string {
  const body = JSON.stringify(bodyOf(question)).replaceAll(`'`, `'\\''`)
  return `curl -s ${BASE}/compute/v0/${question.operation} -H 'content-type: application/json' -d '${body}'`
}

/** The question for a program; `wallet` is that of its reader. */
export function typescriptOf({ operation, inputs, radius, chainId }: Question): string {
  const names = OPERATIONS[operation].names
  const values = inputs.map((input, i) => `const ${names[i]}: Input = ${JSON.stringify(input)}`)
  const parameters = [...names.slice(0, inputs.length), ...(radius === undefined ? [] : [String(radius)])]
  return [
    `import { createGeo, type Input } from '@geospatial-attestation/client'`,
    '',
    `const geo = createGeo({ url: '${BASE}', chain: ${chainId} })`,
    ...values,
    `const answer = await geo.${operation}(${parameters.join(', ')})`,
    `console.log(answer.result${answerHasUnits(operation) ? ', answer.units' : ''})`,
    `// const { uid } = await geo.land(answer, wallet)`,
    '',
  ].join('\n')
}

const answerHasUnits = (operation: Question['operation']) =>
  ['distance', 'area', 'length'].includes(operation)

/** A contract that takes exactly this answer, by the kit. */
export function solidityOf({ operation }: Question, answer: Answer, eas: string): string {
  const { attestation, inputRefs, result } = answer
  const units = 'units' in answer ? answer.units : undefined
  const kind = units === undefined ? 'Boolean' : 'Numeric'
  const whole =
    typeof result === 'number' ? BigInt(Math.round(result * (units === 'meters' ? 100 : 10_000))) : 0n
  const refs = inputRefs.join(', ')
  const requirement = {
    distance: () => `requireDistanceAtMost(${refs}, ${whole}); // centimetres`,
    within: () => `requireWithin(${refs}, ${answer.operation.split(':')[1]}); // centimetres`,
    contains: () => `requireContains(${refs});`,
    intersects: () => (result === true ? `requireIntersects(${refs});` : `requireDisjoint(${refs});`),
    area: () => `requireAreaAtMost(${refs}, ${whole}); // square centimetres`,
    length: () => `requireLengthAtMost(${refs}, ${whole}); // centimetres`,
  }[operation]()
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
