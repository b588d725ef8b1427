// SPDX-License-Identifier: MIT
import { Wallet, type TypedDataDomain } from 'ethers'
import { LOCAL_PROXY_NAME, LOCAL_SIGNER_KEY } from '../../../dev/chain'
import { ATTEST_FIELDS } from '../../../src/eas/layouts'

/**
 * forge's tests submit one answer in both forms: the service's data, which this file signs for the proxy with
 * the deadline of the direct form. The service's own answers for the proxy land in kit.system.test.ts.
 */
export const PROXY_CODE = 'api/contracts/proxy-contract.json'

/** Content of an answer's attestation. */
interface Attested {
  schema: string
  recipient: string
  revocable: boolean
  refUID: string
  data: string
}

/** Signature with which the proxy attests this: 65 bytes. */
export function proxySignature(
  { schema, recipient, revocable, refUID, data }: Attested,
  { chainId, proxy, deadline }: { chainId: number; proxy: string; deadline: number },
): Promise<string> {
  const signer = new Wallet(LOCAL_SIGNER_KEY)
  const domain: TypedDataDomain = {
    name: LOCAL_PROXY_NAME,
    version: '1.4.0',
    chainId,
    verifyingContract: proxy,
  }
  return signer.signTypedData(
    domain,
    { Attest: ATTEST_FIELDS.proxy },
    {
      ...{ attester: signer.address, schema, recipient, revocable, refUID, data, deadline },
      ...{ expirationTime: 0, value: 0 },
    },
  )
}
