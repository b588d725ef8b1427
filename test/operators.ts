import { Wallet, type TypedDataField } from 'ethers'
import { createGeo, type Quorum, type QuorumOptions } from '@geospatial-attestation/client'
import { deployQuorum, testAccount, type LocalChain } from '../dev/chain'
import { stopAll } from '../dev/in-process'
import { inOrder, Operator } from '../dev/operators'
import { freePort } from '../dev/services'
import { quorumDomain, type QuorumAnswer } from '../src/eas'
import { startTestChain } from './chains'
import { createMigratedDatabase, temporaryFolder } from './database'

/** Starts five operators with separate databases, indexers, keys and RPC proxies, on one local chain. */
export interface OperatorsWorld {
  readonly chain: LocalChain
  /** address of the GeoQuorum contract */
  readonly quorum: string
  /** in the order of their indices */
  readonly operators: readonly Operator[]
  stop(): Promise<void>
}
const OPERATORS = 5
export const THRESHOLD = 3

export async function startOperators(): Promise<OperatorsWorld> {
  const stops: (() => Promise<unknown>)[] = []
  const stop = () => stopAll(stops)
  try {
    const folder = temporaryFolder()
    const chain = await startTestChain({ port: await freePort(), statesKept: 200 })
    stops.push(() => chain.stop())
    // Local chains start in the past, but answers have the present time.
    await chain.provider.send('anvil_setTime', [Date.now()])
    await chain.provider.send('anvil_mine', ['0x1'])
    const wallets = inOrder(Array.from({ length: OPERATORS }, (_, i) => `0x${`${i + 1}`.repeat(64)}`))
    const quorum = await deployQuorum(chain, {
      ...{ operators: wallets.map(({ address }) => address), threshold: THRESHOLD },
      owner: testAccount(8).address,
    })
    const operators: Operator[] = []
    for (const wallet of wallets) {
      const database = await createMigratedDatabase()
      stops.push(() => database.drop())
      const operator = await Operator.create({
        ...{ chain, quorum, wallet, databaseUrl: database.url, port: await freePort(), folder },
      })
      stops.push(() => operator.close())
      await operator.start()
      operators.push(operator)
    }
    await Promise.all(operators.map((each) => each.caughtUp()))
    return { chain, quorum, operators, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Creates a client of a quorum whose requests a front of an operator may change. */
export function quorumBehind(
  { chain, quorum, operators }: OperatorsWorld,
  fetch: typeof globalThis.fetch,
  options: Partial<QuorumOptions> = {},
): Promise<Quorum> {
  return createGeo({ url: operators[0]!.url, chain: chain.chain.id, fetch }).quorum({
    ...{ operators: operators.map(({ url }) => url), k: THRESHOLD, contract: quorum, timeout: 60_000 },
    ...options,
  })
}

/**
 * Members of the typed data `Answer`, copied from the contract so that they are independent of the client.
 */
const ANSWER_FIELDS: TypedDataField[] = [
  { name: 'schema', type: 'bytes32' },
  { name: 'recipient', type: 'address' },
  { name: 'expirationTime', type: 'uint64' },
  { name: 'revocable', type: 'bool' },
  { name: 'refUID', type: 'bytes32' },
  { name: 'data', type: 'bytes' },
  { name: 'deadline', type: 'uint64' },
  { name: 'epoch', type: 'uint32' },
]

/** Signs any content with an operator's own key, as a dishonest operator could. */
export function signContent(
  wallet: Wallet,
  { chainId, quorum }: { chainId: number; quorum: string },
  answer: QuorumAnswer,
): Promise<string> {
  return wallet.signTypedData(quorumDomain(chainId, quorum), { Answer: ANSWER_FIELDS }, answer)
}
