import { readFileSync } from 'node:fs'
import { Wallet, type TypedDataDomain } from 'ethers'
import { LOCAL_SIGNER_KEY } from '../../../dev/chain'

/**
 * The one place that knows how an answer comes by way of EAS's PermissionedEIP712Proxy: the service's own
 * data, signed by its local key for the proxy.
 */
export const PROXY_CODE = 'dev/contracts/permissioned-eip712-proxy-1.4.0.json'
export const PROXY_NAME = 'Geospatial Attestation Service'

export function proxyCreationCode(): string {
  return (JSON.parse(readFileSync(PROXY_CODE, 'utf8')) as { creationCode: string }).creationCode
}

/** What an answer's attestation says. */
interface Attested {
  schema: string
  recipient: string
  revocable: boolean
  refUID: string
  data: string
}

const ATTEST = {
  Attest: [
    { name: 'attester', type: 'address' },
    { name: 'schema', type: 'bytes32' },
    { name: 'recipient', type: 'address' },
    { name: 'expirationTime', type: 'uint64' },
    { name: 'revocable', type: 'bool' },
    { name: 'refUID', type: 'bytes32' },
    { name: 'data', type: 'bytes' },
    { name: 'value', type: 'uint256' },
    { name: 'deadline', type: 'uint64' },
  ],
}

/** The signature by which the proxy attests this: 65 bytes. */
export function proxySignature(
  { schema, recipient, revocable, refUID, data }: Attested,
  { chainId, proxy, deadline }: { chainId: number; proxy: string; deadline: number },
): Promise<string> {
  const signer = new Wallet(LOCAL_SIGNER_KEY)
  const domain: TypedDataDomain = { name: PROXY_NAME, version: '1.4.0', chainId, verifyingContract: proxy }
  return signer.signTypedData(domain, ATTEST, {
    ...{ attester: signer.address, schema, recipient, revocable, refUID, data, deadline },
    ...{ expirationTime: 0, value: 0 },
  })
}
