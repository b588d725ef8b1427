import { readFileSync } from 'node:fs'
import { HDNodeWallet, type Contract, type JsonRpcProvider, type TransactionReceipt } from 'ethers'
import { CHAINS, type Chain } from '../../src/chains'

/** A running local chain, its test accounts, and helpers that all programs with a local chain share. */

/** Chain that a local node simulates by default. */
export const LOCAL_CHAIN = CHAINS.find((chain) => chain.slug === 'base-sepolia')!
/** Public mnemonic of anvil's test accounts, which are refused as signers on chains that are not local. */
const TEST_MNEMONIC = 'test test test test test test test test test test test junk'
const testWallet = HDNodeWallet.fromPhrase(TEST_MNEMONIC, undefined, "m/44'/60'/0'/0")
const testAccounts: HDNodeWallet[] = []
/** Test account 9 signs for the local service; accounts 0 to 8 attest. */
export const LOCAL_SIGNER_KEY = testAccount(9).privateKey

export interface LocalChain {
  /** the simulated chain: its contracts, addresses and id */
  readonly chain: Chain
  readonly url: string
  /** true if it was started without a saved state */
  readonly fresh: boolean
  /** EAS's PermissionedEIP712Proxy of the signer */
  readonly proxy: string
  readonly provider: JsonRpcProvider
  /** contract of EAS, connected to this test account */
  eas(account?: number): Promise<Contract>
  registry(account?: number): Promise<Contract>
  stop(): Promise<void>
  /** resolves when the node has ended, with the reason as a sentence without its full stop */
  readonly ended: Promise<string>
}

/** Wallet of the test account, not connected to a chain. */
export function testAccount(index: number): HDNodeWallet {
  return (testAccounts[index] ??= testWallet.deriveChild(index))
}

/**
 * Receipt of a transaction after it is mined. Throws if it reverted. ethers' wait() listens for the next
 * block, which is never mined if the transaction was mined before and the node mines on demand.
 */
export async function mined(chain: LocalChain, hash: string): Promise<TransactionReceipt> {
  for (;;) {
    const receipt = await chain.provider.getTransactionReceipt(hash)
    if (receipt?.status === 0) throw new Error(`transaction ${hash} reverted`)
    if (receipt) return receipt
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

/** Sets the clock of a chain, which starts in the past, to the present, and mines a block at that time. */
export async function bringToPresent({ provider }: Pick<LocalChain, 'provider'>): Promise<void> {
  await provider.send('anvil_setTime', [Date.now()])
  await provider.send('anvil_mine', ['0x1'])
}

/** Reads a JSON file of the project. npm starts everything in the project's folder. */
export function readJson(file: string): any {
  return JSON.parse(readFileSync(file, 'utf8'))
}
