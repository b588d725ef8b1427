import { parseArgs } from 'node:util'
import { JsonRpcProvider, Transaction, formatEther, formatUnits } from 'ethers'
import { Attester, loadIdentity } from './compute'
import { ChainReader, proxyCreation } from './contracts'
import { CHAINS, settingSuffix } from '../src/chains'
import { SettingsError, chosenChain, type Requirement, type Settings } from '../src/config'

const USAGE =
  'npm run deploy-proxy -- --chain base-sepolia [--name "Domain name of the proxy"] [--dry-run] [--yes]'
const NAME = 'Geospatial Attestation Service'

/**
 * Runs `npm run deploy-proxy`: deploys EAS's PermissionedEIP712Proxy for a chain's EAS contract. The signer
 * sends the transaction and owns the proxy. Shows the cost first; with --dry-run it then stops. Without
 * --yes, `confirm` decides. Throws a SettingsError if the arguments, the settings or the chain do not allow
 * it.
 */
export async function deployProxy(
  argv: readonly string[],
  settingsFor: (...requirements: Requirement[]) => Settings,
  print: (text: string) => void,
  confirm: () => Promise<boolean>,
): Promise<void> {
  const { chain: slug, name, dryRun, yes } = readArguments(argv)
  const settings = settingsFor('chains', 'signer')
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

  print(`Chain      ${chain.slug} (${chain.id})`)
  const attesterOf = (each: typeof connected) =>
    new Attester(identity, each, new ChainReader(each, clock), undefined)
  const attester = attesterOf(connected)
  const refusal = await attester.direct.refusal()
  if (refusal) throw new SettingsError(`${chain.slug} cannot be signed for: ${refusal}`)
  print(`EAS        ${attester.direct.address}`)
  print(`Signer     ${attester.address}: sends the transaction and will own the proxy`)
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
    print(`Name       ${name} (of its EIP-712 domain)`)
    print(
      `Cost       at most ${formatEther(gas * fee)} of the chain's native coin: ${gas} gas at ` +
        `${formatUnits(fee, 'gwei')} gwei. Rollups charge an additional data fee`,
    )
    print(`Balance    ${formatEther(balance)}`)
    if (balance < gas * fee)
      throw new SettingsError(
        `The balance of the signer is too low: send it at least ${formatEther(gas * fee - balance)}`,
      )
    if (dryRun) return print('Dry run: nothing was sent.')
    if (!yes && !(await confirm())) return print('Nothing was sent.')

    const nonce = await provider.getTransactionCount(attester.address, 'pending')
    const transaction = Transaction.from({ chainId: chain.id, nonce, data, gasLimit: gas, ...fees })
    transaction.signature = await identity.signer.sign(transaction.unsignedHash, () => {
      throw new TypeError('a transaction is not typed data')
    })
    const sent = await provider.broadcastTransaction(transaction.serialized)
    print(`Sent       ${sent.hash}`)
    const receipt = await mined(provider, sent.hash, print)
    if (receipt.status !== 1) throw new Error(`The transaction reverted in block ${receipt.blockNumber}`)
    const proxy = receipt.contractAddress!
    const reason = await attesterOf({ ...connected, proxy: proxy.toLowerCase() }).proxy!.refusal()
    if (reason) throw new Error(`The proxy at ${proxy} was deployed, but does not work: ${reason}`)
    print(`Deployed   ${proxy}, in block ${receipt.blockNumber}, for ${receipt.gasUsed} gas`)
    print(`\nNow set this for every API instance, and restart it:\n\n${setting}=${proxy}`)
  } finally {
    provider.destroy()
  }
}

function readArguments(argv: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...argv],
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

/** Waits for the receipt of a transaction without a time limit, and shows the time waited. */
async function mined(provider: JsonRpcProvider, hash: string, print: (text: string) => void) {
  for (const started = performance.now(); ;) {
    const receipt = await provider.getTransactionReceipt(hash)
    if (receipt) return receipt
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    const seconds = Math.round((performance.now() - started) / 1000)
    if (seconds % 10 === 0) print(`           waiting for its block (${seconds} s) ...`)
  }
}
