// SPDX-License-Identifier: MIT
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { id, zeroPadValue } from 'ethers'
import { expect } from 'vitest'
import type { LocalChain } from '../../../dev/chain'
import type { TestWorld } from '../../../test/world'
import type { Shell } from './geo'

/**
 * Creates question files for `geo batch`, and reads their answers and the attestations that a batch created
 * on a chain.
 */
export interface Batches {
  /** Writes a file of questions, and returns its name without the extension. */
  questions(lines: readonly (object | string)[]): string
  rowsOf(file: string): any[]
  /** Returns the payloads of a recipient's attestations on a chain. */
  attested(chain: LocalChain, recipient: string): Promise<string[]>
  /** Fails unless each of the `count` lines of a batch landed exactly once. */
  landedOnce(name: string, count: number, chain: LocalChain, recipient: string): Promise<void>
}

export const distances = (count: number, more: object = {}) =>
  Array.from({ length: count }, (_, i) => ({ operation: 'distance', from: `${i},1`, to: '1,2', ...more }))
export const rows = (text: string): any[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
/** Returns the arguments that land the answers of a question file. */
export const land = (name: string, recipient: string, submission: string, chain = 'base-sepolia') => [
  ...['batch', `${name}.ndjson`, '-o', `${name}.out`, '--land', '--recipient', recipient],
  ...['--submission', submission, '--chain', chain],
]

export function batchesOf(shell: Shell, world: TestWorld): Batches {
  let files = 0
  const rowsOf = (file: string) => rows(readFileSync(path.join(shell.folder, file), 'utf8'))
  const attested = async ({ chain, provider }: LocalChain, recipient: string) => {
    const topics = [id('Attested(address,address,bytes32,bytes32)'), zeroPadValue(recipient, 32)]
    const logs = await provider.getLogs({ address: chain.eas, topics, fromBlock: chain.firstBlock })
    const eas = await world.chains.get(chain.slug)!.eas()
    return Promise.all(
      logs.map(async ({ data }) => (await eas.getFunction('getAttestation')(data)).data as string),
    )
  }
  return {
    ...{ rowsOf, attested },
    questions: (lines) => {
      const name = `questions-${++files}`
      shell.write(
        `${name}.ndjson`,
        lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
      )
      return name
    },
    landedOnce: async (name, count, chain, recipient) => {
      const answers = rowsOf(`${name}.out`)
      expect(answers).toHaveLength(count)
      const payloads = await attested(chain, recipient)
      expect(payloads).toHaveLength(count)
      expect(new Set(payloads)).toEqual(new Set(answers.map(({ answer }) => answer.attestation.data)))
      const eas = await chain.eas()
      for (const { answer, landed } of answers)
        expect((await eas.getFunction('getAttestation')(landed.uid)).data).toBe(answer.attestation.data)
    },
  }
}
