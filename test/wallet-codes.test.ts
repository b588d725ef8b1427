import path from 'node:path'
import { ConnectionError, SignerError } from '@geospatial-attestation/client'
import { expect, test, vi } from 'vitest'
import { codeOf, messageOf } from '../web/wallet/codes'

/** The module without its types: this project lacks those of browsers. */
const WORDS = path.resolve('web/wallet/words.ts')

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

test.each([
  ...[4900, 4901, -32002, -32603].flatMap((code) => [
    { Kind: SignerError, code, shown: 'its sentence' },
    { Kind: ConnectionError, code, shown: 'its sentence' },
  ]),
  { Kind: ConnectionError, code: 4100, shown: 'its sentence' },
  { Kind: SignerError, code: 4001, shown: 'You rejected the request in your wallet. Nothing was sent.' },
])('a page shows for a $Kind.name with the code $code: $shown', async ({ Kind, code, shown }) => {
  // Modules of pages read their address and language when they are loaded.
  vi.stubGlobal('location', new URL('http://127.0.0.1/'))
  vi.stubGlobal('navigator', { languages: ['en'] })
  vi.stubGlobal('document', { documentElement: {} })
  const { walletWords } = (await import(WORDS)) as { walletWords: (error: unknown) => string }
  vi.unstubAllGlobals()
  expect(walletWords(new Kind('its sentence', { cause: { code } }))).toBe(shown)
})
