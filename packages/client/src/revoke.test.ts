// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import type { Context } from './context'
import { revokeSigned } from './revoke'
import type { Chain } from './types'

const [FIRST, SECOND] = [`0x${'a'.repeat(40)}`, `0x${'b'.repeat(40)}`]
const HASH = `0x${'2'.repeat(64)}`

test('a revocation has one sender, also if the user switches the account of the wallet meanwhile', async () => {
  const accounts = [FIRST, SECOND]
  let sender: string | undefined
  /** accounts whose revocation was read */
  const read: string[] = []
  const provider = {
    request: async ({ method, params }: { method: string; params: any[] }) => {
      if (method === 'eth_requestAccounts') return [accounts.shift() ?? SECOND]
      if (method === 'eth_chainId') return '0x1'
      if (method === 'eth_call') {
        const { data } = params[0] as { data: string }
        if (data.length === 2 + 8 + 128) read.push(`0x${data.slice(34, 74)}`)
        return `0x${(sender ? '5' : '0').padStart(64, '0')}`
      }
      if (method === 'eth_sendTransaction') sender = params[0].from
      if (method === 'eth_sendTransaction') return HASH
      return { status: '0x1', blockNumber: '0x7', transactionHash: HASH, logs: [] }
    },
  }
  const chain = { id: 1, slug: 'ethereum', eas: FIRST } as Chain
  const context = { chain: async () => chain } as unknown as Context
  const revoked = await revokeSigned(context, `0x${'1'.repeat(64)}`, provider)
  expect(revoked).toMatchObject({ revocationTime: 5, already: false })
  expect([sender, ...read]).toEqual([FIRST, FIRST, FIRST])
})
