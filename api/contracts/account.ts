import { AbiCoder } from 'ethers/abi'
import { ZeroAddress } from 'ethers/constants'
import { toQuantity } from 'ethers/utils'
import { MAX_SIGNATURE_BYTES } from '../../src/eas'
import { RpcError } from '../../src/rpc'
import { tooManyCalls, type ChainNode } from './chain-node'
import { UnavailableError } from '../http/problems'
import { Semaphore } from '../http/semaphore'

/** A signature that only the contract at the account's address can judge. Addresses are lower-case. */
export interface AccountSignature {
  account: string
  digest: string
  /** 1 to MAX_SIGNATURE_BYTES bytes */
  signature: string
}

/** Reason why an account does not accept a signature. */
export interface AccountRefusal {
  /** False if there is no contract at the address, even after the call of the signature's factory. */
  isContract: boolean
  /** True if the account accepts the signature at the head, but not at a final block yet. */
  isPending?: true
  /** Text for the client, to be appended to the name of the signature. */
  problem: string
}

/** Verdict of an account on a signature. */
type AccountAnswer = 'no contract' | 'accepted' | 'refused'

const SIGNATURE = new RegExp(`^0x([0-9a-fA-F]{2}){1,${MAX_SIGNATURE_BYTES}}$`)
/** Gas limit of an account: nine times the gas of verifying a P-256 signature in Solidity. */
const ACCOUNT_GAS = 3_000_000
/** Gas limit of a factory: the largest contract takes 4,915,200 to store (24,576 bytes, EIP-170). */
const FACTORY_GAS = 6_000_000
/** Gas limit of the whole call, below the caps of common endpoints and of EIP-7825. */
const CALL_GAS = 10_000_000
/** Last 32 bytes of a signature of an account that may not be deployed yet (ERC-6492). */
const WRAPPED = '6492'.repeat(16)

/** Compiled account.sol; account.test.ts recompiles it. Its target is Paris, which all chains run. */
export const ACCOUNT_CHECK =
  '0x608060405234801561001057600080fd5b5060405161037538038061037583398101604081905261002f91610227565b6001600160a01b0383161580159061004f57506001600160a01b0387163b155b1561006d5761005d81610117565b60008083516020850160008786f1505b60006001600160a01b0388163b1561010d576000631626ba7e88886040516024016100999291906102d6565b6040516020818303038152906040529060e01b6020820180516001600160e01b03838183161783525050505090506100d68661011760201b60201c565b6000602060008351602085018d8bfa600051630b135d3f60e11b1460203d141616905080610105576002610108565b60015b925050505b8060005260206000f35b61012381612710610326565b60405a610130919061033f565b5a61013b9190610361565b1161014557600080fd5b50565b80516001600160a01b038116811461015f57600080fd5b919050565b634e487b7160e01b600052604160045260246000fd5b60005b8381101561019557818101518382015260200161017d565b50506000910152565b600082601f8301126101af57600080fd5b81516001600160401b038111156101c8576101c8610164565b604051601f8201601f19908116603f011681016001600160401b03811182821017156101f6576101f6610164565b60405281815283820160200185101561020e57600080fd5b61021f82602083016020870161017a565b949350505050565b600080600080600080600060e0888a03121561024257600080fd5b61024b88610148565b602089015160408a015191985096506001600160401b0381111561026e57600080fd5b61027a8a828b0161019e565b60608a01519096509450610292905060808901610148565b60a08901519093506001600160401b038111156102ae57600080fd5b6102ba8a828b0161019e565b925050600060c089015190508091505092959891949750929550565b82815260406020820152600082518060408401526102fb81606085016020870161017a565b601f01601f1916919091016060019392505050565b634e487b7160e01b600052601160045260246000fd5b8082018082111561033957610339610310565b92915050565b60008261035c57634e487b7160e01b600052601260045260246000fd5b500490565b818103818111156103395761033961031056fe'

/** True if a text is a signature that an account can check. */
export function isAccountSignature(text: string): boolean {
  return SIGNATURE.test(text)
}

/**
 * Returns an eth_call for an account's verdict (ERC-1271), after a call of the factory that the signature
 * names (ERC-6492); undefined if that suffix is malformed.
 */
export function accountCall({ account, digest, signature }: AccountSignature): object | undefined {
  const abi = AbiCoder.defaultAbiCoder()
  let [factory, factoryCall, inner] = [ZeroAddress, '0x', signature]
  if (signature.endsWith(WRAPPED))
    try {
      ;[factory, factoryCall, inner] = abi
        .decode(['address', 'bytes', 'bytes'], signature.slice(0, -WRAPPED.length))
        .toArray() as [string, string, string]
    } catch {
      return undefined
    }
  const parameters = abi.encode(
    ['address', 'bytes32', 'bytes', 'uint256', 'address', 'bytes', 'uint256'],
    [account, digest, inner, ACCOUNT_GAS, factory, factoryCall, FACTORY_GAS],
  )
  return { data: ACCOUNT_CHECK + parameters.slice(2), gas: toQuantity(CALL_GAS) }
}

/** Verdicts by the response to that call. */
const ANSWERS: ReadonlyMap<unknown, AccountAnswer> = new Map(
  (['no contract', 'accepted', 'refused'] as const).map((each, i) => [`0x${`${i}`.padStart(64, '0')}`, each]),
)

/**
 * Limits of calls of accounts, which leave room for other reads. Two batches of a client may call 80
 * accounts, so the last check waits for 13 others: long enough if each takes 5 s. At an endpoint that needs
 * more for the two calls of a check, the last ones are refused with a `Retry-After`.
 */
const ACCOUNT_CHECKS = { all: 16, each: 6, waiting: 400, waitingEach: 80, waitMs: 65_000 }

export const accountSlots = (chain: string) =>
  new Semaphore(ACCOUNT_CHECKS, tooManyCalls(`smart accounts on ${chain}`))

/**
 * Returns why an account does not accept a signature (ERC-1271, ERC-6492); undefined if it does. It must
 * accept it at a final block, which no reorg undoes, and at the head, so that a removed key no longer counts.
 * A local chain, which makes blocks on demand, is called at its head only. Verdicts are not cached.
 * @param maxAgeSeconds maximum age of the head
 */
export async function refusalBy(
  node: ChainNode,
  claim: AccountSignature,
  maxAgeSeconds: number,
): Promise<AccountRefusal | undefined> {
  const { slug } = node.connected.chain
  const call = accountCall(claim)
  if (!call)
    return { isContract: true, problem: 'has the suffix of ERC-6492 but is not encoded as ERC-6492 requires' }
  const final = (await node.isLocal()) ? undefined : await askAtFinalBlock(node, call)
  // The head is called last, because its verdict may change while an endpoint reads the older block.
  const last = answerOf(node, await node.callAtHead(call, maxAgeSeconds))
  const contract = `the contract ${claim.account} of ${slug}`
  if (last === 'no contract')
    return {
      isContract: false,
      problem: `is not by the key of its address, and there is no ${contract.slice(4)}`,
    }
  if (last === 'refused') return { isContract: true, problem: `is not accepted by ${contract}` }
  if (final && final.answer !== 'accepted')
    return {
      ...{ isContract: true, isPending: true },
      problem: `is not accepted by ${contract} at block ${final.block}, the newest final block. Retry later.`,
    }
  return undefined
}

function answerOf(node: ChainNode, response: unknown): AccountAnswer {
  const answer = ANSWERS.get(response)
  if (!answer)
    throw new UnavailableError(
      `The RPC endpoint of ${node.connected.chain.slug} could not call a smart account.`,
    )
  return answer
}

async function askAtFinalBlock(
  node: ChainNode,
  call: object,
): Promise<{ answer: AccountAnswer; block: number }> {
  const blocks = await node.finalBlocks()
  let failure: unknown
  for (const block of blocks)
    try {
      return {
        answer: answerOf(node, await node.request('eth_call', [call, toQuantity(block)], { unshared: true })),
        block,
      }
    } catch (error) {
      // Only an RPC endpoint that works and returns an error may lack the state of this block.
      if (!((error as Error).cause instanceof RpcError)) throw error
      failure = error
    }
  throw failure
}
