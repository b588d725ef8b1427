import Fastify from 'fastify'
import { TypedDataEncoder, Wallet, ZeroAddress, ZeroHash, id } from 'ethers'
import { LOCAL_CHAIN, LOCAL_SIGNER_KEY } from '../dev/chain'
import { readSettings } from '../src/config'
import { ATTEST_TYPE_HASHES, attestDigest, domainSeparator, encodeNumericResult, keySigner } from '../src/eas'

/** Attest message of EAS 1.2.0, which the local chain's contract verifies. */
const TYPES = {
  Attest: [
    { name: 'schema', type: 'bytes32' },
    { name: 'recipient', type: 'address' },
    { name: 'expirationTime', type: 'uint64' },
    { name: 'revocable', type: 'bool' },
    { name: 'refUID', type: 'bytes32' },
    { name: 'data', type: 'bytes' },
    { name: 'value', type: 'uint256' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint64' },
  ],
}

/**
 * Plain server for comparison of distance requests: `node dist/bench/bare.js <port>` answers every POST /
 * with a signature of the same typed data by ethers' Wallet, and every POST /native with one by the service's
 * own signer. It does not parse, compute or check anything.
 */
async function main(): Promise<void> {
  if (id(TypedDataEncoder.from(TYPES).encodeType('Attest')) !== ATTEST_TYPE_HASHES.v1)
    throw new Error('this is not the message that the service signs')
  const wallet = new Wallet(LOCAL_SIGNER_KEY)
  const domain = {
    name: 'EAS',
    version: LOCAL_CHAIN.domainVersions[0]!,
    chainId: LOCAL_CHAIN.id,
    verifyingContract: LOCAL_CHAIN.eas,
  }
  const timestamp = Math.floor(Date.now() / 1000)
  const message = {
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
  const app = Fastify()
  app.post('/', async () => ({ signature: await wallet.signTypedData(domain, TYPES, message) }))
  const signer = await keySigner(LOCAL_SIGNER_KEY)
  const separator = domainSeparator(domain)
  const attester = signer.address
  app.post('/native', async () => ({
    signature: await signer.sign(await attestDigest(separator, 'v1', { ...message, attester })),
  }))
  await app.listen({ host: '127.0.0.1', port: Number(process.argv[2]) })
  process.send?.('listening')
}

process.once('SIGTERM', () => process.exit(0))
process.once('disconnect', () => process.exit(0))
void main()
