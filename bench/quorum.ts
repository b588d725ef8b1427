import { createGeo } from '@geospatial-attestation/client'
import { bringToPresent, deployQuorum, startLocalChain, testAccount } from '../dev/chain'
import { inOrder, Operator } from '../dev/operators'
import { seededRandom } from '../dev/random'
import { freePort } from '../dev/services'
import { percentile, rounded, type Bench, type Table } from './bench'

const OPERATORS = 5
const THRESHOLD = 3
const QUESTIONS = 500
/**
 * Number of questions that are not measured, because they open connections and warm up caches and compiled
 * code.
 */
const WARM_UP = 50
const SEED = 40
/**
 * Delay of a response in milliseconds: the minimum, the mean of an exponentially distributed addition, and
 * the delay of slow responses.
 */
const NETWORK = { least: 20, rest: 10, slow: 300, slowShare: 0.02 }

/**
 * Latency of an answer of one operator and of three of five, alternately, one question at a time. All
 * operators run in this process, on the same processor; with a network, each response arrives after a random
 * delay, as from machines of their own.
 */
export async function quorum(bench: Bench): Promise<Table[]> {
  const chain = await startLocalChain({ port: await freePort() })
  bench.atEnd(() => chain.stop())
  await bringToPresent(chain)
  const wallets = inOrder(Array.from({ length: OPERATORS }, (_, i) => `0x${`${i + 1}`.repeat(64)}`))
  const contract = await deployQuorum(chain, {
    ...{ operators: wallets.map(({ address }) => address), threshold: THRESHOLD },
    owner: testAccount(8).address,
  })
  const operators: Operator[] = []
  for (const wallet of wallets) {
    const databaseUrl = await bench.migratedDatabase()
    const operator = await Operator.create({
      ...{ chain, quorum: contract, wallet, databaseUrl, port: await freePort(), folder: bench.folder },
    })
    bench.atEnd(() => operator.close())
    await operator.start()
    operators.push(operator)
  }
  await Promise.all(operators.map((each) => each.caughtUp()))
  const rows: Table[number][] = []
  for (const network of [false, true]) rows.push(await measure(bench, operators, contract, network))
  return [rows]
}

async function measure(bench: Bench, operators: readonly Operator[], contract: string, network: boolean) {
  const random = seededRandom(SEED)
  const { least, rest, slow, slowShare } = NETWORK
  const delayed: typeof fetch = async (input, init) => {
    const ms = least - rest * Math.log(1 - random()) + (random() < slowShare ? slow : 0)
    const [response] = await Promise.all([
      fetch(input, init),
      network ? new Promise((resolve) => setTimeout(resolve, ms)) : undefined,
    ])
    return response
  }
  const { chain } = operators[0]!.options.chain
  const geo = createGeo({ url: operators[0]!.url, chain: chain.id, fetch: delayed })
  const several = await geo.quorum({
    ...{ operators: operators.map(({ url }) => url), k: THRESHOLD, contract },
  })
  const position = () => [random() * 300 - 150, random() * 120 - 60] as [number, number]
  const times = { one: [] as number[], several: [] as number[] }
  for (let i = -WARM_UP; i < QUESTIONS; i++) {
    const [from, to] = [position(), position()]
    for (const [name, asked] of [
      ['one', geo],
      ['several', several],
    ] as const) {
      const started = performance.now()
      await asked.distance(from, to)
      if (i >= 0) times[name].push(performance.now() - started)
    }
    bench.progress('questions', Math.max(0, i), QUESTIONS)
  }
  const ms = (name: keyof typeof times, share: number) => rounded(percentile(times[name], share))
  return {
    network: network ? 'delays' : 'none',
    questions: QUESTIONS,
    oneP50Ms: ms('one', 0.5),
    oneP99Ms: ms('one', 0.99),
    quorumP50Ms: ms('several', 0.5),
    quorumP99Ms: ms('several', 0.99),
    p99Ratio: rounded(percentile(times.several, 0.99) / percentile(times.one, 0.99), 2),
  }
}
