// SPDX-License-Identifier: MIT
import { readFileSync, readdirSync } from 'node:fs'
import { AbiCoder, id } from 'ethers'
import { expect, test } from 'vitest'
import { refusedWith } from './refused'
import { RevertedError, type Hex } from './reader'
import { sentence, testSentences } from '../../../test/sentences'

const abi = AbiCoder.defaultAbiCoder()
const reverted = (signature: string, values: unknown[]) => {
  const [, types = ''] = /\((.*)\)$/.exec(signature)!
  const data = id(signature).slice(0, 10) + abi.encode(types ? types.split(',') : [], values).slice(2)
  return new RevertedError('RPC Request failed', data as Hex)
}

test('the error reader names the errors of packages/contracts, with their values', () => {
  const folder = 'packages/contracts/src'
  const sources = readdirSync(folder).filter((name) => name.endsWith('.sol'))
  const errors = sources.flatMap((name) => [
    ...readFileSync(`${folder}/${name}`, 'utf8').matchAll(/^ *error (\w+)\((.*)\);$/gm),
  ])
  expect(errors.length).toBeGreaterThan(25)
  for (const [, name, list] of errors) {
    const parameters = list ? list.split(', ').map((each) => each.split(' ')) : []
    const types = parameters.map(([type]) => type!)
    const values = types.map((type) =>
      type === 'string' ? 'x' : type === 'bool' ? true : type === 'address' || type === 'bytes32' ? null : 7,
    )
    const given = values.map((value, i) => value ?? `0x${'0'.repeat(types[i] === 'address' ? 40 : 64)}`)
    const error = reverted(`${name}(${types.join()})`, given)
    const told = refusedWith(error)
    expect(told.name).toBe(name)
    for (const [, parameter] of parameters) expect(told.text).toContain(`${parameter}: `)
  }
})

test('the error reader describes reverts of other contracts as far as possible', () => {
  const told = (signature: string, values: unknown[]) => refusedWith(reverted(signature, values)).text
  expect(told('Error(string)', ['no \u001b[2Jway\n'])).toBe('reason: "no  [2Jway "')
  expect(told('Panic(uint256)', [17])).toBe('panic: 17')
  expect(told('WrongResult(bool,bool)', [false, true])).toBe('WrongResult (actual: false, expected: true)')
  expect(told('InvalidSignature()', [])).toBe('InvalidSignature')
  expect(told('Unheard(uint256)', [1])).toMatch(/^an error of another contract, .*: 0x\w{72}$/)
  expect(refusedWith(new RevertedError('execution reverted', undefined)).text).toBe('execution reverted')
  // A contract may return malformed error data.
  const lie = `${id('Error(string)').slice(0, 10)}00` as Hex
  expect(refusedWith(new RevertedError('', lie)).text).toEqual(sentence())
})

testSentences()
