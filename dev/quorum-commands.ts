import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { Operator } from './operators'

/** Commands of `npm run quorum`, which stop and start operators. */

type Commanded = Pick<Operator, 'isRunning' | 'start' | 'stop' | 'ready'>

/** Runs the commands in the lines of `input` one after the other, until it ends, and prints their results. */
export async function runCommands(
  input: Readable,
  operators: readonly Commanded[],
  print: (sentence: string) => void,
): Promise<void> {
  for await (const line of createInterface({ input }))
    if (line.trim() !== '') print(await runCommand(line.trim(), operators))
}

async function runCommand(line: string, operators: readonly Commanded[]): Promise<string> {
  const [, verb, index] = /^(stop|start) +(\d{1,9})$/.exec(line) ?? []
  const operator = operators[Number(index)]
  if (!operator)
    return `Unknown command '${line.slice(0, 80)}'. Commands: stop N, start N. N is an operator, 0 to ${operators.length - 1}.`
  const starts = verb === 'start'
  const state = starts ? 'running' : 'stopped'
  if (operator.isRunning === starts) return `Operator ${index} is already ${state}.`
  try {
    if (starts) {
      await operator.start()
      await operator.ready()
    } else await operator.stop()
  } catch (error) {
    return `Could not ${verb} operator ${index}: ${(error as Error).message}`
  }
  return `Operator ${index} is ${state}.`
}
