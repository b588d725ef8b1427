import Fastify from 'fastify'
import { Wallet, ZeroAddress, ZeroHash } from 'ethers'
import { LOCAL_CHAIN, LOCAL_SIGNER_KEY } from '../dev/chain'
import { readSettings } from '../src/config'
import { attestDigest, attestTypedData, domainSeparator, encodeNumericResult, keySigner } from '../src/eas'

/**
 * Plain server for comparison of distance requests: `node dist/bench/bare.js <port>` answers every POST /
 * with a signature of the same typed data by ethers' Wallet, and every POST /native with one by the service's
 * own signer. It does not parse, compute or check anything.
 */
async function main(): Promise<void> {
  const wallet = new Wallet(LOCAL_SIGNER_KEY)
  const domain = {
    name: 'EAS',
    version: LOCAL_CHAIN.domainVersions[0]!,
    chainId: LOCAL_CHAIN.id,
    verifyingContract: LOCAL_CHAIN.eas,
  }
  const timestamp = Math.floor(Date.now() / 1000)
  // EAS 1.2.0, which the local chain's contract is, signs all fields but the attester.
  const message = {
    attester: wallet.address,
    schema: readSettings({}, []).defaultSchemas.number,
    recipient: ZeroAddress,
    expirationTime: 0n,
    revocable: true,
    refUID: ZeroHash,
    data: encodeNumericResult(123_456n, 'centimeters', {
      inputRefs: [ZeroHash, ZeroHash],
      timestamp,
      operation: 'distance',
    }),
    value: 0n,
    nonce: 0n,
    deadline: BigInt(timestamp + 3600),
  }
  const Attest = [...attestTypedData(domain, 'v1', message).types.Attest!]
  const app = Fastify()
  app.post('/', async () => ({ signature: await wallet.signTypedData(domain, { Attest }, message) }))
  const signer = await keySigner(LOCAL_SIGNER_KEY)
  const separator = domainSeparator(domain)
  app.post('/native', async () => ({
    signature: await signer.sign(await attestDigest(separator, 'v1', message)),
  }))
  await app.listen({ host: '127.0.0.1', port: Number(process.argv[2]) })
  process.send?.('listening')
}

process.once('SIGTERM', () => process.exit(0))
process.once('disconnect', () => process.exit(0))
void main()
