import { Wallet } from 'ethers'
import { settingSuffix, type Chain } from '../src/chains'
import type { Settings } from '../src/config'
import { LOCAL_SIGNER_KEY, type LocalChain } from './chain'
import { PlainError } from './services'

/** Name of the setting of a chain's RPC endpoints. */
export function rpcUrl(chain: Chain): string {
  return `RPC_URL_${settingSuffix(chain)}`
}

/** Sets the settings of a service on local chains, unless the environment has others. */
export function setLocalDefaults(environment: NodeJS.ProcessEnv, { signer }: Pick<Settings, 'signer'>): void {
  environment.DEPLOYMENT_NAME ||= 'local'
  // The local service has one user, who is not limited.
  environment.RATE_LIMIT_PER_HOUR ||= '0'
  environment.RECORDS_RATE_LIMIT_PER_HOUR ||= '0'
  if (!signer) environment.SIGNER_PRIVATE_KEY = LOCAL_SIGNER_KEY
}

export function setLocalChain(environment: NodeJS.ProcessEnv, { chain, url, proxy }: LocalChain): void {
  environment[rpcUrl(chain)] ||= url
  environment[`PROXY_${settingSuffix(chain)}`] ||= proxy
}

/** Replaces the password of a database URL, which may contain any character, by `***`. */
export function withoutPassword(url: string): string {
  return url.replace(/(?<=:\/\/[^:@/]*:).*(?=@)/, '***').replaceAll(/(?<=[?&](?:ssl)?password=)[^&]*/g, '***')
}

/** Returns the address of a key in a file. Throws a PlainError if the key is not in a file. */
export function addressOf(signer: Settings['signer']): string {
  if (signer && signer.kind !== 'key')
    throw new PlainError('ATTESTER_ADDRESS: missing. The configured signer requires it.')
  return new Wallet(signer?.readKey() ?? LOCAL_SIGNER_KEY).address
}
