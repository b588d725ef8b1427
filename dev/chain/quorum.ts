import { AbiCoder, concat, ZeroAddress } from 'ethers'
import { mined, readJson, type LocalChain } from './local-chain'

/** First epoch of a GeoQuorum, valid from the present. */
export interface FirstEpoch {
  /** addresses, in ascending order */
  operators: readonly string[]
  threshold: number
  /** account that may propose epochs and remove operators; nobody by default */
  owner?: string
}

const PERIOD_SECONDS = 30 * 86_400
const DEPLOYER = 9

/** Deploys a GeoQuorum of the EAS of a local chain, and returns its address. */
export async function deployQuorum(
  local: LocalChain,
  { operators, threshold, owner = ZeroAddress }: FirstEpoch,
): Promise<string> {
  const { creationCode } = readJson('dev/contracts/geo-quorum.json')
  const now = (await local.provider.getBlock('latest'))!.timestamp
  const parameters = AbiCoder.defaultAbiCoder().encode(
    ['address', 'address', 'uint256', 'tuple(uint64,uint64,uint8,address[])'],
    [...[local.chain.eas, owner, 0], [now, now + PERIOD_SECONDS, threshold, operators]],
  )
  const account = await local.provider.getSigner(DEPLOYER)
  const { hash } = await account.sendTransaction({ data: concat([creationCode, parameters]) })
  const { contractAddress } = await mined(local, hash)
  return contractAddress!
}
