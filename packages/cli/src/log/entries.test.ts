// SPDX-License-Identifier: MIT
import { encodeAbiParameters, parseAbiParameters, type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { expect } from 'vitest'
import { testAccount } from '../../../../dev/chain'
import { ATTEST_FIELDS } from '../../../../src/eas/layouts'
import { encodeEntry } from '../../../../src/tlog'
import { TypedDataEncoder } from 'ethers'
import { hunt } from '../../../../test/seed'
import { checkEntry } from './entries'

/** Shapes of answers (docs/spec/interface.md 6): numbers of inputs and parameters, and unit of payloads. */
const SHAPES: Record<string, { inputs: number; units?: string; parameters?: number }> = {
  distance: { inputs: 2, units: 'centimeters' },
  contains: { inputs: 2 },
  within: { inputs: 2, parameters: 1 },
  intersects: { inputs: 2 },
  area: { inputs: 1, units: 'square_centimeters' },
  length: { inputs: 1, units: 'centimeters' },
}
const NUMERIC = parseAbiParameters('uint256, string, bytes32[], uint64, string')
const BOOLEAN = parseAbiParameters('bool, bytes32[], uint64, string')
const ZERO: Hex = `0x${'0'.repeat(64)}`

hunt(
  'rejects entries whose signed payload is not an answer of its operation',
  150,
  async ({ random, cases }) => {
    const below = (limit: number) => Math.floor(random() * limit)
    const account = privateKeyToAccount(testAccount(5).privateKey as Hex)
    const domain = { name: 'EAS', version: '1', chainId: 1, verifyingContract: account.address }
    const geo = { info: () => Promise.resolve({ chains: [] }) } as never
    const service = { geo, signal: new AbortController().signal }
    for (let each = 0; each < cases; each++) {
      const names = Object.keys(SHAPES)
      const name = names[below(names.length)]!
      const { inputs, units, parameters = 0 } = SHAPES[name]!
      // Each of the four properties is changed in half of the cases at most.
      const refs = below(4) ? inputs : below(5)
      const isBoolean = below(4) ? units === undefined : below(2) === 1
      const written =
        below(4) && units !== undefined ? units : ['centimeters', 'square_centimeters'][below(2)]!
      const numbers = below(4)
        ? Array<string>(parameters).fill('500')
        : [[], ['500'], ['500', '1'], ['x'], ['']][below(5)]!
      const isAnswer =
        refs === inputs &&
        isBoolean === (units === undefined) &&
        (isBoolean || written === units) &&
        numbers.length === parameters &&
        numbers.every((number) => number === '500')
      const references = Array<Hex>(refs).fill(ZERO)
      const operation = [name, ...numbers].join(':')
      const data = isBoolean
        ? encodeAbiParameters(BOOLEAN, [true, references, 1n, operation])
        : encodeAbiParameters(NUMERIC, [1n, written, references, 1n, operation])
      const content = {
        ...{ schema: ZERO, recipient: ZERO.slice(0, 42), expirationTime: 0, revocable: true, refUID: ZERO },
        ...{ nonce: 0, deadline: 5, data },
      }
      const attester = account.address.toLowerCase()
      const signature = await account.signTypedData({
        ...{ domain, types: { Attest: ATTEST_FIELDS.proxy }, primaryType: 'Attest' },
        message: { ...content, attester, value: 0 },
      })
      const entry = encodeEntry({
        ...{ kind: 'answer', time: 1, chainId: 1, layout: 'proxy', attester, ...content, signature },
        separator: TypedDataEncoder.hashDomain(domain),
      })
      const connect = () => Promise.resolve(undefined)
      const { result } = await checkEntry(entry, service, connect)
      expect([operation, data, result]).toEqual([operation, data, isAnswer ? 'unresolved' : 'unreadable'])
    }
  },
)
