import {
  Signature,
  TypedDataEncoder,
  ZeroAddress,
  ZeroHash,
  hexlify,
  solidityPackedKeccak256,
  toUtf8Bytes,
  type HDNodeWallet,
} from 'ethers'
import { locationRequest, testAccount } from '../dev/chain'
import { chainNamed } from '../src/chains'
import { LOCATION_SCHEMA } from '../src/location'
import { TOWER } from './positions'

const COMMON = [
  ...['bytes32 schema', 'address recipient', 'uint64 time', 'uint64 expirationTime', 'bool revocable'],
  ...['bytes32 refUID', 'bytes data'],
]
const FIELDS = [COMMON, ['uint16 version', ...COMMON], ['uint16 version', ...COMMON, 'bytes32 salt']]
/** Current time, Unix seconds. */
export const seconds = () => Math.floor(Date.now() / 1000)

interface Options {
  slug?: string
  version?: 0 | 1 | 2
  signer?: HDNodeWallet
  schema?: string
  data?: string
  time?: number
  expirationTime?: number
  salt?: string
  revocable?: boolean
  /** contract that signs, and its signature of a digest, in the form of the document */
  account?: { address: string; sign: (digest: string) => unknown }
}
let salts = 0

/** An offchain attestation in the format of the EAS SDK, created with ethers only. */
export async function offchain(geometry: typeof TOWER, options: Options = {}) {
  const {
    slug = 'base-sepolia',
    version = 2,
    signer = testAccount(2),
    schema = LOCATION_SCHEMA.uid,
    data = locationRequest(geometry, { schema }).data.data,
    time = seconds(),
    expirationTime = 0,
    salt = `0x${(++salts).toString(16).padStart(64, '0')}`,
    revocable = true,
    account,
  } = options
  const chain = chainNamed(slug)!
  const message = {
    version,
    schema,
    recipient: ZeroAddress,
    time,
    expirationTime,
    revocable,
    refUID: ZeroHash,
    data,
    ...(version === 2 && { salt }),
  }
  const domain = {
    name: 'EAS Attestation',
    version: chain.domainVersions[0],
    chainId: chain.id,
    verifyingContract: chain.eas,
  }
  const primaryType = version === 0 ? 'Attestation' : 'Attest'
  const types = {
    [primaryType]: FIELDS[version]!.map((field) => ({
      type: field.split(' ')[0]!,
      name: field.split(' ')[1]!,
    })),
  }
  const signature = account
    ? await account.sign(TypedDataEncoder.hash(domain, types, message))
    : parts(await signer.signTypedData(domain, types, message))
  const packed: [string, unknown][] = [
    ...(version === 0 ? [] : [['uint16', version] as [string, unknown]]),
    ['bytes', hexlify(toUtf8Bytes(schema))],
    ...([
      ['address', ZeroAddress],
      ['address', ZeroAddress],
      ['uint64', time],
      ['uint64', expirationTime],
      ['bool', revocable],
      ['bytes32', ZeroHash],
      ['bytes', data],
    ] as [string, unknown][]),
    ...(version === 2 ? [['bytes32', salt] as [string, unknown]] : []),
    ['uint32', 0],
  ]
  const uid = solidityPackedKeccak256(
    packed.map(([type]) => type),
    packed.map(([, value]) => value),
  )
  return {
    sig: { version, uid, domain, primaryType, types, message, signature },
    signer: (account ?? signer).address,
  }
}

/** Signature by a key, in the form of the document. */
export function parts(signature: string) {
  const { r, s, v } = Signature.from(signature)
  return { r, s, v }
}
