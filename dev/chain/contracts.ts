import { Contract, ContractFactory, getCreateAddress, Interface } from 'ethers'
import { proxyCreation } from '../../api/contracts/proxy-creation'
import { settingSuffix, type Chain } from '../../src/chains'
import {
  ATTEST_TYPE_HASHES,
  BOOLEAN_RESULT_FIELDS,
  NUMERIC_RESULT_FIELDS,
  domainSeparator,
  type AttestLayout,
} from '../../src/eas'
import { LOCATION_SCHEMAS } from '../../src/location'
import { PlainError } from '../services'
import { registerSchema } from './attestations'
import { mined, readJson, type LocalChain } from './local-chain'

/** Contracts of a local chain: EAS and its registry, Multicall3, and the proxy of the signer. */

/** Domain versions of EAS in dev/contracts/, and the layout of their delegated attestations. */
const LAYOUTS: Readonly<Record<string, AttestLayout>> = {
  '0.26': 'legacy',
  '1.2.0': 'v1',
  '1.3.0': 'v2',
  '1.4.0': 'v2',
}
const PROXY_ABI = ['function getEAS() view returns (address)', 'function owner() view returns (address)']
/** Name of the EIP-712 domain of the proxies of local chains. */
export const LOCAL_PROXY_NAME = 'Geospatial Attestation Service'
export const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11'

/** Newest version of this chain's EAS in dev/contracts/. Throws a PlainError if there is none. */
export function localVersion(chain: Chain): string {
  const version = chain.domainVersions.findLast((version) => version in LAYOUTS)
  if (!version)
    throw new PlainError(
      `No local chain can simulate ${chain.slug}: its EAS is ${chain.domainVersions.join(' or ')}, ` +
        `but dev/contracts has ${Object.keys(LAYOUTS).join(', ')}. Leave ${chain.slug} out of ` +
        `CHAINS, or set RPC_URL_${settingSuffix(chain)} to an endpoint of the chain itself.`,
    )
  return version
}

/** Places the real contracts at their real addresses: copies deployed code, with immutables, and storage. */
export async function deploy(local: LocalChain): Promise<void> {
  const { chain, provider } = local
  const version = localVersion(chain)
  const artifact = readJson(`dev/contracts/eas-${version}.json`)
  const signer = await provider.getSigner(0)
  const create = async (code: string, abi: unknown[], ...parameters: unknown[]) => {
    const contract = await new ContractFactory(new Interface(abi as []), code, signer).deploy(...parameters)
    await mined(local, contract.deploymentTransaction()!.hash)
    return contract.getAddress()
  }
  const copies = [
    [await create(artifact.registryCreationCode, []), chain.schemaRegistry],
    [
      await create(artifact.easCreationCode, ['constructor(address registry)'], chain.schemaRegistry),
      chain.eas,
    ],
    [await create(readJson('dev/contracts/multicall3.json').creationCode, []), MULTICALL3],
  ] as const
  for (const [from, to] of copies) {
    await provider.send('anvil_setCode', [to, await provider.getCode(from)])
    for (let slot = 0; slot < 8; slot++)
      await provider.send('anvil_setStorageAt', [
        to,
        `0x${slot.toString(16)}`,
        await provider.getStorage(from, slot),
      ])
  }
  const eas = await local.eas()
  const expected = [
    domainSeparator({ name: 'EAS', version, chainId: chain.id, verifyingContract: chain.eas }),
    ATTEST_TYPE_HASHES[LAYOUTS[version]!],
  ]
  const answered = await Promise.all(
    ['getDomainSeparator', 'getAttestTypeHash'].map((view) => eas.getFunction(view).staticCall()),
  )
  if (String(answered) !== String(expected))
    throw new Error(
      `The local EAS of ${chain.slug} has the domain separator and attest type hash ${answered.join(', ')}, expected ${expected.join(', ')}`,
    )

  for (const fields of [
    ...LOCATION_SCHEMAS.map((schema) => schema.fields),
    NUMERIC_RESULT_FIELDS,
    BOOLEAN_RESULT_FIELDS,
  ])
    await registerSchema(local, fields)
}

/** Indexing needs a final block, which evm-processor waits for. */
export async function mineToFinality({ chain, provider }: LocalChain): Promise<void> {
  const missing = chain.firstBlock + chain.finality - (await provider.getBlockNumber())
  await provider.send('anvil_mine', [`0x${missing.toString(16)}`, '0x1'])
}

/** Proxy that this account deployed before, otherwise a new one. */
export async function proxyOf(local: LocalChain, owner: string): Promise<string> {
  const { chain, provider } = local
  const deployed = await provider.getTransactionCount(owner)
  for (let nonce = 0; nonce < deployed; nonce++) {
    const address = getCreateAddress({ from: owner, nonce })
    const found = new Contract(address, PROXY_ABI, provider)
    const is = [found.getFunction('getEAS')(), found.getFunction('owner')()] as Promise<string>[]
    const [eas, ownedBy] = await Promise.all(is).catch(() => [])
    if (eas?.toLowerCase() === chain.eas && ownedBy === owner) return address
  }
  await provider.send('anvil_impersonateAccount', [owner])
  if ((await provider.getBalance(owner)) === 0n)
    await provider.send('anvil_setBalance', [owner, '0x8ac7230489e80000'])
  const hash = (await provider.send('eth_sendTransaction', [
    { from: owner, data: proxyCreation(chain.eas, LOCAL_PROXY_NAME), gas: '0x7a1200' },
  ])) as string
  const { contractAddress } = await mined(local, hash)
  await provider.send('anvil_stopImpersonatingAccount', [owner])
  return contractAddress!
}
