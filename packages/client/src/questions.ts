// SPDX-License-Identifier: MIT
import { OPERATION_ROWS, type OperationName } from '../../../src/operations/table'

/**
 * Builds a method for each operation. Its arguments are the inputs and numbers in order, then the options.
 */
export function methodsOf<Methods>(
  ask: (name: OperationName, question: object, options: object | undefined, given: unknown[]) => unknown,
): Methods {
  const method = (name: OperationName, names: readonly string[]) =>
    function (...given: unknown[]) {
      const question = Object.fromEntries(names.map((each, i) => [each, given[i]]))
      return ask(name, question, given[names.length] as object | undefined, given.slice(0, names.length))
    }
  return Object.fromEntries(
    OPERATION_ROWS.map(([name, { inputs, parameters = [] }]) => [
      name,
      method(
        name,
        [...inputs, ...parameters].map((each) => each.name),
      ),
    ]),
  ) as Methods
}
