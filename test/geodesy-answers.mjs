// Prints one line for each vector: the result of the compiled kernel as the bits of its doubles, or its
// error.
import { readFileSync } from 'node:fs'
import * as kernel from '../lib/geodesy/index.js'

const { areaSquareMeters, contains, distanceMeters, lengthMeters, prepareGeometry, readGeometry } = kernel
const ANSWERS = {
  area: areaSquareMeters,
  contains,
  distance: distanceMeters,
  intersects: distanceMeters,
  length: lengthMeters,
  within: distanceMeters,
}
const bits = (number) => Buffer.from(Float64Array.of(number).buffer).toString('hex')

for (const name of ['geodesy-cases', 'geodesy-cases-2', 'geodesy-cases-3'])
  for (const { id, op, inputs } of JSON.parse(
    readFileSync(new URL(`vectors/${name}.json`, import.meta.url), 'utf8'),
  )) {
    let answer
    try {
      answer = ANSWERS[op](
        ...Object.entries(inputs).map(([path, value]) => prepareGeometry(readGeometry(value, path))),
      )
    } catch (error) {
      answer = error.message
    }
    console.log(id, typeof answer === 'number' ? bits(answer) : answer)
  }
