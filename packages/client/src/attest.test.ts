// SPDX-License-Identifier: MIT
import { encodeAbiParameters, parseAbiParameters } from 'viem'
import { expect, test } from 'vitest'
import { attestPlaces } from './attest'
import type { Context } from './context'
import { ZERO_ADDRESS, ZERO_HASH, selector } from './eas'
import type { Chain } from './types'

const [EAS, REGISTRY, USER] = ['e', '5', 'a'].map((digit) => `0x${digit.repeat(40)}`)
const HASH = `0x${'2'.repeat(64)}`
const NO_SCHEMA = encodeAbiParameters(parseAbiParameters('(bytes32, address, bool, string)'), [
  [ZERO_HASH, ZERO_ADDRESS, false, ''],
])

test.each(['contract', 'wallet'])(
  'the error of a place that the %s rejects names the registration of its schema',
  async (who) => {
    const provider = {
      request: async ({ method, params }: { method: string; params: any[] }) => {
        if (method === 'eth_requestAccounts') return [USER]
        if (method === 'eth_chainId') return '0x1'
        const { to, data } = params[0]
        if (method === 'eth_call' && to === REGISTRY)
          return data.startsWith(selector('getSchema(bytes32)')) ? NO_SCHEMA : '0x'
        if (method === 'eth_call' && who === 'contract')
          throw Object.assign(new Error('reverted'), { data: selector('InvalidSchema()') })
        if (method === 'eth_sendTransaction' && to === EAS) throw new Error('rejected')
        if (method === 'eth_sendTransaction') return HASH
        if (method === 'eth_call') return '0x'
        return { status: '0x1', blockNumber: '0x7', transactionHash: HASH, logs: [] }
      },
    }
    const chain = { id: 1, slug: 'ethereum', eas: EAS, schemaRegistry: REGISTRY } as Chain
    const context = { chain: async () => chain } as unknown as Context
    const attesting = attestPlaces(context, [1, 2], provider, { registerSchema: true, unchecked: true })
    const { name, message } = await attesting.catch((error: Error) => error as any)
    expect(name).toBe(who === 'contract' ? 'LandingError' : 'SignerError')
    expect(message).toContain(HASH)
    expect(message).not.toContain('Nothing was sent')
  },
)
