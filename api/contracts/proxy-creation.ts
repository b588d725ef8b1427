import { AbiCoder } from 'ethers/abi'
import { creationCode } from './proxy-contract.json'

/**
 * Returns the creation code of EAS's PermissionedEIP712Proxy for this EAS, in hex. The account that sends it
 * owns the proxy.
 * @param name of the proxy's EIP-712 domain
 */
export function proxyCreation(eas: string, name: string): string {
  return creationCode + AbiCoder.defaultAbiCoder().encode(['address', 'string'], [eas, name]).slice(2)
}
