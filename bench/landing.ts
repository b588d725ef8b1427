import { Interface, Wallet, parseEther } from 'ethers'
import { CHAINS, settingSuffix } from '../src/chains'
import { LOCAL_SIGNER_KEY, localVersion, mined, startLocalChain, type LocalChain } from '../dev/chain'
import { freePort } from '../dev/services'
import type { Bench, Table } from './bench'

const ANSWERS = 1_000
const SUBMITTERS = 8
/** Chains to measure, one for each version of EAS. */
const SLUGS = ['sepolia', 'base-sepolia', 'celo', 'base']
const QUESTION = {
  from: { type: 'Point', coordinates: [2.2945, 48.8584] },
  to: { type: 'Point', coordinates: [13.3777, 52.5163] },
}

/**
 * Measures the share of answers that land, in both forms and for each version of EAS, if 8 submitters request
 * and submit without pauses and without repeating a request; and the gas of a landed answer. All send the
 * same request.
 */
export async function landing(bench: Bench): Promise<Table[]> {
  const rows: Table[number][] = []
  for (const slug of SLUGS) {
    const row = CHAINS.find((each) => each.slug === slug)!
    const chain = await startLocalChain({ chain: row, port: await freePort() })
    bench.atEnd(() => chain.stop())
    const port = await freePort()
    const api = await bench.start(`api-${slug}`, ['dist/api/main.js'], {
      ...bench.environment,
      ...{ DATABASE_URL: await bench.createDatabase(), PORT: String(port) },
      ...{ RATE_LIMIT_PER_HOUR: '0', API_PROCESSES: '1' },
      ...{ SIGNER_PRIVATE_KEY: LOCAL_SIGNER_KEY, CHAINS: slug },
      [`RPC_URL_${settingSuffix(row)}`]: chain.url,
      [`PROXY_${settingSuffix(row)}`]: chain.proxy,
    })
    for (const submission of ['direct', 'proxy'])
      rows.push({
        eas: localVersion(row),
        chain: slug,
        submission,
        ...(await land(bench, chain, port, submission)),
      })
    await api.stop()
    await chain.stop()
  }
  return [rows]
}

async function land(bench: Bench, chain: LocalChain, port: number, submission: string) {
  const wallets = Array.from({ length: SUBMITTERS }, () => Wallet.createRandom(chain.provider))
  for (const { address } of wallets)
    await chain.provider.send('anvil_setBalance', [address, `0x${parseEther('100').toString(16)}`])
  let [asked, landed, gas] = [0, 0, 0n]
  const refusals = new Map<string, number>()
  const started = performance.now()
  const submit = async (wallet: (typeof wallets)[number]) => {
    for (let nonce = 0; asked++ < ANSWERS;) {
      const { transaction } = await answerOf(port, chain.chain.id, submission)
      try {
        const sent = await wallet.sendTransaction({ ...transaction, nonce })
        nonce++
        const { gasUsed } = await mined(chain, sent.hash)
        gas += gasUsed
        landed++
      } catch (error) {
        const data = (error as { data?: string }).data
        const reason = (data && ERRORS.parseError(data)?.name) ?? 'reverted'
        refusals.set(reason, (refusals.get(reason) ?? 0) + 1)
      }
      bench.progress(`answers on ${chain.chain.slug}, ${submission}`, asked, ANSWERS)
    }
  }
  await Promise.all(wallets.map(submit))
  return {
    answers: ANSWERS,
    submitters: SUBMITTERS,
    landed,
    landedShare: landed / ANSWERS,
    gas: Number(gas / BigInt(landed || 1)),
    refusals: [...refusals].map(([name, count]) => `${name} ${count}`).join(', ') || 'none',
    seconds: Math.round((performance.now() - started) / 100) / 10,
  }
}

const ERRORS = new Interface(['error InvalidSignature()', 'error UsedSignature()', 'error DeadlineExpired()'])

interface Answer {
  transaction: { to: string; data: string; value: number }
}

async function answerOf(port: number, chainId: number, submission: string): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${port}/compute/v0/distance`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ chainId, submission, include: ['transaction'], ...QUESTION }),
  })
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()) as Answer
}
