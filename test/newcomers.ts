import { hexlify, parseEther, randomBytes, toQuantity, type TransactionReceipt } from 'ethers'
import { mined, type LocalChain } from '../dev/chain'
import * as eas from '../src/abi/EAS'

/** Transactions of accounts that are unrelated to the service. */

/** Makes an account able to pay for transactions. */
export async function fund({ provider }: LocalChain, address: string): Promise<void> {
  await provider.send('anvil_setBalance', [address, toQuantity(parseEther('10'))])
}

/** Sends a transaction from an account without its key, by default from a new one. Throws if it reverts. */
export async function sent(
  chain: LocalChain,
  { to, data }: { to: string; data: string },
  from = hexlify(randomBytes(20)),
): Promise<TransactionReceipt> {
  await fund(chain, from)
  await chain.provider.send('anvil_impersonateAccount', [from])
  return mined(chain, await chain.provider.send('eth_sendTransaction', [{ from, to, data }]))
}

/** The attestation in a receipt, as EAS returns it: that of the log of EAS with this topic. */
export async function attestationIn(
  chain: LocalChain,
  { logs }: Pick<TransactionReceipt, 'logs'>,
): Promise<any> {
  const log = logs.find(
    ({ address, topics }) =>
      address.toLowerCase() === chain.chain.eas && topics[0] === eas.events.Attested.topic,
  )
  return (await chain.eas()).getFunction('getAttestation').staticCall(log!.data)
}
