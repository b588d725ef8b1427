// SPDX-License-Identifier: MIT
import { BaseError, ContractFunctionRevertedError, HttpRequestError } from 'viem'
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { serve } from '../../../../test/http-server'
import { hunt } from '../../../../test/seed'
import { EXIT, exitCodeOf } from '../exit'
import { Chains } from './chains'
import { Metrics } from './metrics'
import { readState } from './state'

const address = (n: number) => `0x${n.toString(16).padStart(40, '0')}`
const chain = (id: number, more: object = {}) => ({
  ...{ id, slug: `chain-${id}`, eas: address(100), attester: address(1), proxy: { address: address(7) } },
  ...more,
})

/** A service whose quorums are these; undefined if it does not respond. */
let quorums: (object | null)[] | undefined
let url: string
beforeAll(async () => {
  url = await serve((_, response) => {
    response.statusCode = quorums ? 200 : 503
    response.end(JSON.stringify(quorums ?? {}))
  })
})
afterEach(() => void vi.useRealTimers())

/** Follows the chains of a service, whose description and nodes the test changes. */
function follow(options: object = {}) {
  quorums = []
  const parts = {
    named: [] as object[],
    /** error of the node, or of the call of a contract */
    outage: undefined as Error | undefined,
    notes: [] as string[],
    /** slugs of the nodes, and filters of their logs */
    slugs: [] as string[],
    logs: [] as { address: string; args: { attester?: string[] } }[],
  }
  const client = {
    getBlockNumber: () => (parts.outage ? Promise.reject(parts.outage) : Promise.resolve(10n)),
    getLogs: (filter: (typeof parts.logs)[0]) => (parts.logs.push(filter), Promise.resolve([])),
  }
  const session = {
    ...{ options: { fromBlock: 0, ...options }, signal: new AbortController().signal },
    geo: { url, info: () => Promise.resolve({ chains: parts.named }) },
    note: (line: string) => parts.notes.push(line),
    node: ({ slug }: { slug: string }) => (parts.slugs.push(slug), Promise.resolve(client)),
  }
  const state = readState(undefined)
  const chains = new Chains(session as never, state, new Metrics())
  const read = async () => {
    parts.logs = []
    const results = []
    for (const each of await chains.compared()) results.push(await chains.read(each))
    return results
  }
  return { parts, state, read }
}

test('a contract, a proxy and a slug stay compared although the service names others', async () => {
  const { parts, state, read } = follow()
  parts.named = [chain(1), chain(2)]
  expect(await read()).toEqual([true, true])
  expect(parts.notes).toEqual([])
  const other = { slug: 'other', eas: address(200), proxy: null, attester: address(2) }
  parts.named = [chain(1, other), chain(2, { proxy: null })]
  expect(await read()).toEqual([true, true])
  expect(parts.slugs).toEqual(['chain-1', 'chain-2'])
  const attesters = [1, 2, 7].map(address)
  expect(parts.logs.map((log) => [log.address, log.args.attester])).toEqual([
    [address(100), attesters],
    [address(200), attesters],
    [address(100), [1, 7].map(address)],
  ])
  expect(parts.notes).toEqual([
    'chain-1: the service no longer names the chain by this slug, which is still compared.',
    `chain-1: the service no longer names the EAS contract ${address(100)}, which is still compared.`,
    `chain-1: the service no longer names the proxy ${address(7)}, which is still compared.`,
    `chain-2: the service no longer names the proxy ${address(7)}, which is still compared.`,
  ])
  expect(Object.keys(state.blocks)).toEqual([1, 2, 1].map((id, at) => `${id} ${address(at < 2 ? 100 : 200)}`))
})

test('the chain of an option has any letter case, and must be named by the service or the state', async () => {
  for (const name of ['Chain-1', '1']) {
    const { parts, read } = follow({ chain: name })
    parts.named = [chain(2), chain(1)]
    expect(await read()).toEqual([true])
    parts.named = [chain(2)]
    expect(await read()).toEqual([true])
    expect(parts.slugs).toEqual(['chain-1'])
  }
  const { parts, read } = follow({ chain: 'chain-3' })
  parts.named = [chain(1)]
  await expect(read()).rejects.toMatchObject({ name: 'UsageError' })
})

test('a quorum of an option is compared, but not as one that the service has named', async () => {
  const { parts, state, read } = follow({ quorumContracts: { 1: address(9) } })
  parts.named = [chain(1)]
  quorums = [null, { chainId: 1, quorum: address(8) }]
  await read()
  expect(parts.logs.map((log) => log.address)).toEqual([100, 8, 9].map(address))
  expect(state.chains[1]!.quorums).toEqual([address(8)])
})

test('an outage of a chain is noted if the service no longer names it, and holds contents for 30 days', async () => {
  const { parts, state, read } = follow()
  parts.named = [chain(1)]
  await read()
  parts.outage = new BaseError('The node is gone.')
  await expect(read()).rejects.toThrow('gone')
  parts.named = []
  expect(await read()).toEqual([false])
  expect(await read()).toEqual([false])
  expect(parts.notes).toEqual([
    'chain-1: the service no longer names the chain 1, which is still compared.',
    'chain-1, which the service no longer names, is not compared: The RPC endpoint of chain-1 failed (The node is gone).',
  ])
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 31 * 86_400_000 })
  expect(await read()).toEqual([true])
  // The service must not be able to feign an outage.
  quorums = undefined
  await expect(read()).rejects.toThrow('503')
  quorums = []
  const cause = new ContractFunctionRevertedError({ abi: [], functionName: 'getAttester' })
  parts.outage = new BaseError('It reverted.', { cause })
  await expect(read()).rejects.toThrow('reverted')
  parts.outage = undefined
  expect(await read()).toEqual([true])
  expect(state.chains[1]).not.toHaveProperty('unreadSince')
})

test("an error of a node is reported without the node's URL, as unreachable", async () => {
  const { parts, read } = follow()
  parts.named = [chain(1)]
  parts.outage = new HttpRequestError({ url: 'https://node.example/v2/secret', status: 429 })
  expect(parts.outage.message).toContain('secret')
  const error = (await read().catch((error: unknown) => error)) as Error
  expect(error.toString()).not.toContain('secret')
  expect(await exitCodeOf(error)).toBe(EXIT.unreachable)
})

hunt(
  'whatever a service has named once is compared at every read, without a gap',
  20,
  async ({ cases, random }) => {
    const below = (limit: number) => Math.floor(random() * limit)
    for (let round = 0; round < cases; round++) {
      let newest = 0
      const logs: { id: number; address: string; accounts: string[]; from: number }[] = []
      const clientOf = (id: number) => ({
        getBlockNumber: () => Promise.resolve(BigInt(newest)),
        getLogs: ({
          address,
          args,
          fromBlock,
        }: {
          address: string
          args: { attester?: string[] }
          fromBlock: bigint
        }) => {
          logs.push({ id, address, accounts: args.attester ?? [], from: Number(fromBlock) })
          return Promise.resolve([])
        },
      })
      let named: object[] = []
      const session = {
        ...{ options: { fromBlock: 0 }, signal: new AbortController().signal, note: () => {} },
        geo: { url, info: () => Promise.resolve({ chains: named }) },
        node: ({ id }: { id: number }) => Promise.resolve(clientOf(id)),
      }
      const state = readState(undefined)
      /** Everything that was named, by chain id: contracts with the last block read, and accounts. */
      const truth = new Map<number, { contracts: Map<string, number>; accounts: Set<string> }>()
      quorums = []
      for (let run = 0; run < 12; run++) {
        named = [1, 2, 3]
          .filter(() => below(3) > 0)
          .map((id) => {
            const [eas, attester] = [address(100 + below(3)), address(1 + below(3))]
            const proxy = below(2) === 0 ? null : { address: address(10 + below(3)) }
            // Two chains may have the same slug, or that of a key of the state.
            const slug = ['a', 'b', `${1 + below(3)} ${address(100)}`][below(3)]!
            return { id, slug, eas, attester, proxy }
          })
        for (const { id, eas, attester, proxy } of named as { [name: string]: any }[]) {
          const known = truth.get(id) ?? { contracts: new Map<string, number>(), accounts: new Set<string>() }
          truth.set(id, known)
          known.contracts.set(eas, known.contracts.get(eas) ?? newest)
          for (const account of [attester, proxy?.address]) if (account) known.accounts.add(account)
        }
        newest += below(900)
        logs.length = 0
        // Each run of the command reads the state of the last one.
        const chains = new Chains(session as never, state, new Metrics())
        for (const each of await chains.compared()) await chains.read(each)
        for (const [id, { contracts, accounts }] of truth)
          for (const [contract, last] of contracts) {
            const read = logs.find((each) => each.id === id && each.address === contract)
            expect([id, contract, read?.accounts.toSorted()]).toEqual([
              id,
              contract,
              [...accounts].toSorted(),
            ])
            expect(read!.from).toBeLessThanOrEqual(last)
            contracts.set(contract, newest)
          }
      }
    }
  },
)
