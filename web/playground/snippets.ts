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
  // GeoJSON may have further members, such as `name`, which TypeScript refuses in a constant of a declared
  // type. It infers the type of a salt from `as const` only.
  const values = places.map(({ name }, i) => `const ${name} = ${JSON.stringify(inputs[i])} as const`)
  const parameters = [...places.map(({ name }) => name), ...numbers]
  return [
    `import { createGeo } from '@geospatial-attestation/client'`,
    '',
    `const geo = createGeo({ url: '${BASE}', chain: ${chainId} })`,
    ...values,
    `const answer = await geo.${operation}(${parameters.join(', ')})`,
    `console.log(answer.result${units ? ', answer.units' : ''})`,
    `// const { uid } = await geo.land(answer, wallet)`,
    '',
  ].join('\n')
}
