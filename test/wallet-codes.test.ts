import { expect, test } from 'vitest'
import { codeOf, messageOf } from '../web/wallet/codes'

/** Tests how a page reads the error codes and messages of wallets. */

const errors = (code: number): [how: string, error: unknown][] => [
  ['the error', { code }],
  ['an internal error of the mobile MetaMask', { code: -32603, data: { originalError: { code } } }],
  ['an error without a code', { data: { originalError: { code } } }],
  ['the cause of an error', { message: 'x', cause: { code } }],
]

test.each([4902, 4001].flatMap((code) => errors(code).map(([how, error]) => ({ code, how, error }))))(
  'a page finds the code $code of a wallet in $how',
  ({ code, error }) => {
    expect(codeOf(error)).toBe(code)
  },
)
test.each([
  [{ code: -32603 }, -32603],
  [{ code: -32603, data: { originalError: {} } }, -32603],
  [{ code: 4001, data: { originalError: { code: 5 } } }, 4001],
  [{ code: 'ACTION_REJECTED' }, undefined],
  [new Error('no'), undefined],
  [undefined, undefined],
  [null, undefined],
])('a page finds in the error %j the code %j', (error, code) => {
  expect(codeOf(error)).toBe(code)
})
test.each([
  [{ message: 'one\ntwo' }, 'one'],
  [{ shortMessage: null, message: 'long' }, 'long'],
  [{ shortMessage: 'short', message: null }, 'short'],
  [{ message: 5, toString: (): string => 'text' }, 'text'],
  ['text', 'text'],
  [null, 'null'],
])('a page finds in the error %j the message %j', (error, message) => {
  expect(messageOf(error)).toBe(message)
})
