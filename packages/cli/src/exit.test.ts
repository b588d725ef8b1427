// SPDX-License-Identifier: MIT
import { ConnectionError, SignerError, UncertainError, UncheckedError } from '@geospatial-attestation/client'
import { expect, test } from 'vitest'
import { EXIT, exitCodeOf } from './exit'

test.each([
  ['no response', new ConnectionError('x'), EXIT.unreachable],
  ['no response after a transaction', new ConnectionError('x', { transactionHash: '0x1' }), EXIT.landing],
  ['an unchecked place', new UncheckedError('x', { cause: new ConnectionError('x') }), EXIT.unreachable],
  ['an unknown state', new UncertainError('x'), EXIT.landing],
  ['an unusable wallet', new SignerError('x'), EXIT.key],
])('the exit code of %s shows if the command may run again', async (_, error, code) => {
  expect(await exitCodeOf(error)).toBe(code)
})
