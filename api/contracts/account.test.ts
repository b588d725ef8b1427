import { expect, test } from 'vitest'
import { ACCOUNT_CHECK, accountCall, isAccountSignature, refusalBy } from './account'
import type { ChainNode } from './chain-node'

test('ACCOUNT_CHECK is the compiled code of account.sol', { tags: ['slow'] }, async () => {
  // solc takes a second to load, which `npm test` saves.
  const { compile } = await import('../../test/solidity.js')
  expect(ACCOUNT_CHECK).toBe(compile('api/contracts/account.sol').AccountCheck!.bytecode)
})

const claim = { account: `0x${'a1'.repeat(20)}`, digest: `0x${'d1'.repeat(32)}` }
const MAGIC = '6492'.repeat(16)

test('accountCall keeps the largest call within 49,152 bytes of creation code (EIP-3860)', () => {
  const signature = `0x${'51'.repeat(4_096)}`
  expect(isAccountSignature(signature)).toBe(true)
  expect(isAccountSignature(`${signature}51`)).toBe(false)
  const { data } = accountCall({ ...claim, signature }) as { data: string }
  expect(data.length / 2).toBeLessThan(8_192)
})

test.each(['0x', '0x1', '51', '0x5g', '', `0x51 `])('isAccountSignature rejects the signature %j', (text) =>
  expect(isAccountSignature(text)).toBe(false),
)

test.each([
  ['nothing', ''],
  ['too little', '00'.repeat(64)],
  ['places beyond its end', 'ff'.repeat(96)],
  ['an endless length', `${'00'.repeat(31)}01${'00'.repeat(31)}40${'00'.repeat(31)}40${'ff'.repeat(32)}`],
])('accountCall makes no call for a signature with the ERC-6492 suffix and %s', (_, held) =>
  expect(accountCall({ ...claim, signature: `0x${held}${MAGIC}` })).toBeUndefined(),
)

test('refusalBy reads the verdict at the head after that at a slow final block', async () => {
  const [accepted, refused] = ['1', '2'].map((verdict) => `0x${verdict.padStart(64, '0')}`)
  let verdict = accepted
  const node = {
    connected: { chain: { slug: 'base' } },
    isLocal: async () => false,
    finalBlocks: async () => [1],
    callAtHead: async () => verdict,
    request: async () => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      // The account removes the key while the endpoint responds.
      verdict = refused
      return accepted
    },
  } as unknown as ChainNode
  expect(await refusalBy(node, { ...claim, signature: '0x51' }, 60)).toMatchObject({ isContract: true })
})
