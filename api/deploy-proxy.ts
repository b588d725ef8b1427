import '../src/chains-file'
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import { JsonRpcProvider, Transaction, formatEther, formatUnits } from 'ethers'
import { Attester, loadIdentity } from './compute'
import { ChainReader, proxyCreation } from './contracts'
import { runProcess } from './process'
import { CHAINS, settingSuffix } from '../src/chains'
import { SettingsError, chosenChain, processSettings } from '../src/config'

const USAGE =
  'npm run deploy-proxy -- --chain base-sepolia [--name "Domain name of the proxy"] [--dry-run] [--yes]'
const NAME = 'Geospatial Attestation Service'

/**
 * `npm run deploy-proxy`: deploys EAS's PermissionedEIP712Proxy for a chain's EAS contract. The signer sends
 * the transaction and owns the proxy. The command shows the cost first; with --dry-run it then stops.
 */
async function main(): Promise<void> {
  const { chain: slug, name, dryRun, yes } = readArguments()
  const settings = processSettings('chains', 'signer')
  const connected = chosenChain(settings.chains, slug)
  const { chain, rpcUrls } = connected
  const setting = `PROXY_${settingSuffix(chain)}`
  const clock = () => Date.now()
  if (settings.signer!.kind === 'remote')
    throw new SettingsError(
      'SIGNER_URL signs typed data only, but this command needs a signed transaction. Send the ' +
        'transaction from the signer (docs/operations/proxy.md).',
    )
  const identity = await loadIdentity(settings)

  console.log(`Chain      ${chain.slug} (${chain.id})`)
  const attesterOf = (each: typeof connected) =>
    new Attester(identity, each, new ChainReader(each, clock), undefined)
  const attester = attesterOf(connected)
  const refusal = await attester.direct.refusal()
  if (refusal) throw new SettingsError(`${chain.slug} cannot be signed for: ${refusal}`)
  console.log(`EAS        ${attester.direct.address}`)
  console.log(`Signer     ${attester.address}: sends the transaction and will own the proxy`)
  if (await attester.proxy?.unreachable())
    throw new SettingsError(
      `${setting} names a proxy that could not be read from the RPC endpoint. Try again.`,
    )
  if (attester.proxy && !(await attester.proxy.refusal()))
    throw new SettingsError(
      `${setting} already names a working proxy, ${attester.proxy.address}. Remove the setting to ` +
        'deploy another one.',
    )

  const provider = new JsonRpcProvider(rpcUrls[0], chain.id, { staticNetwork: true })
  try {
    const data = proxyCreation(chain.eas, name)
    const [estimated, { maxFeePerGas, maxPriorityFeePerGas, gasPrice }, balance] = await Promise.all([
      provider.estimateGas({ from: attester.address, data }),
      provider.getFeeData(),
      provider.getBalance(attester.address),
    ])
    const gas = (estimated * 6n) / 5n
    const fee = maxFeePerGas ?? gasPrice ?? 0n
    const fees = maxFeePerGas === null ? { gasPrice } : { maxFeePerGas, maxPriorityFeePerGas }
    console.log(`Name       ${name} (of its EIP-712 domain)`)
    console.log(
      `Cost       at most ${formatEther(gas * fee)} of the chain's native coin: ${gas} gas at ` +
        `${formatUnits(fee, 'gwei')} gwei. Rollups charge an additional data fee`,
    )
    console.log(`Balance    ${formatEther(balance)}`)
    if (balance < gas * fee)
      throw new SettingsError(
        `The balance of the signer is too low: send it at least ${formatEther(gas * fee - balance)}`,
      )
    if (dryRun) return console.log('Dry run: nothing was sent.')
    if (!yes && !(await confirmed())) return console.log('Nothing was sent.')

    const nonce = await provider.getTransactionCount(attester.address, 'pending')
    const transaction = Transaction.from({ chainId: chain.id, nonce, data, gasLimit: gas, ...fees })
    transaction.signature = await identity.signer.sign(transaction.unsignedHash, () => {
      throw new TypeError('a transaction is not typed data')
    })
    const sent = await provider.broadcastTransaction(transaction.serialized)
    console.log(`Sent       ${sent.hash}`)
    const receipt = await mined(provider, sent.hash)
    if (receipt.status !== 1) throw new Error(`The transaction reverted in block ${receipt.blockNumber}`)
    const proxy = receipt.contractAddress!
    const reason = await attesterOf({ ...connected, proxy: proxy.toLowerCase() }).proxy!.refusal()
    if (reason) throw new Error(`The proxy at ${proxy} was deployed, but does not work: ${reason}`)
    console.log(`Deployed   ${proxy}, in block ${receipt.blockNumber}, for ${receipt.gasUsed} gas`)
    console.log(`\nNow set this for every API instance, and restart it:\n\n${setting}=${proxy}`)
  } finally {
    provider.destroy()
  }
}

function readArguments() {
  try {
    const { values } = parseArgs({
      options: {
        chain: { type: 'string' },
        name: { type: 'string', default: NAME },
        'dry-run': { type: 'boolean', default: false },
        yes: { type: 'boolean', default: false },
      },
    })
    if (!values.chain) throw new TypeError(`--chain: missing; one of ${CHAINS.map((c) => c.slug).join(', ')}`)
    if (!values.name) throw new TypeError('--name: must not be empty')
    return { chain: values.chain, name: values.name, dryRun: values['dry-run'], yes: values.yes }
  } catch (error) {
    throw new SettingsError(`${(error as Error).message}\n${USAGE}`)
  }
}

async function confirmed(): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new SettingsError('Add --yes to send it: there is no terminal for the confirmation')
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const answer = await terminal.question('Deploy it? [y/N] ')
  terminal.close()
  return /^y(es)?$/i.test(answer.trim())
}

/** Waits for the receipt of a transaction without a time limit, and shows the time waited. */
async function mined(provider: JsonRpcProvider, hash: string) {
  for (const started = performance.now(); ;) {
    const receipt = await provider.getTransactionReceipt(hash)
    if (receipt) return receipt
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    const seconds = Math.round((performance.now() - started) / 1000)
    if (seconds % 10 === 0) console.log(`           waiting for its block (${seconds} s) ...`)
  }
}

runProcess(main)
