import { BASE } from '../service'
import { rowOf } from '../../src/operations/table'
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
