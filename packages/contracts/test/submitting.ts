// SPDX-License-Identifier: MIT
import { readFileSync } from 'node:fs'
import { Contract, ContractFactory, Interface, type InterfaceAbi } from 'ethers'
import { expect } from 'vitest'
import { mined, testAccount, type LocalChain } from '../../../dev/chain'
import type { TestWorld } from '../../../test/world'
import { artifact } from './forge'
import type { Role } from './questions'

/** Requests to the service, deployment of contracts, and submission of answers on a local chain. */

/** An answer of the service, or another JSON document. */
export type Json = any
/** Test accounts of the roles, and the account that signs for the service. */
export const ACCOUNTS: Record<Role, number> = { account: 1, second: 2, prover: 3, mallory: 4 }
const SIGNER = 9
/** Maximum age of an answer for the resolvers, seconds. */
const MAX_AGE = 600
/** Values of GeoResolver.Use. */
export const Use = { oncePerRecipient: 0, oncePerInputs: 1 }

const signer = testAccount(SIGNER).address
export const addressOf = (role: Role) => testAccount(ACCOUNTS[role]).address

/** Requests the service's answer about geometries of this chain. The test fails if the service refuses. */
export async function ask(
  world: TestWorld,
  chain: LocalChain,
  operation: string,
  body: object,
): Promise<Json> {
  const answer = await world.post(`/compute/v0/${operation}`, { chainId: chain.chain.id, ...body })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body
}

/** Deploys a compiled contract from the account that signs for the service. */
export async function deploy(
  chain: LocalChain,
  { abi, bytecode }: { abi: InterfaceAbi; bytecode: string },
  ...parameters: unknown[]
): Promise<Contract> {
  const factory = new ContractFactory(abi, bytecode, await chain.provider.getSigner(SIGNER))
  const contract = await factory.deploy(...parameters)
  await mined(chain, contract.deploymentTransaction()!.hash)
  return new Contract(await contract.getAddress(), abi, chain.provider)
}

/** GeoResolver.Settings */
export const settings = (chain: LocalChain, proxy: string, use: number) => ({
  ...{ eas: chain.chain.eas, signer, proxy, maxAge: MAX_AGE, use },
})

/** Submits an answer to EAS and returns the UID. */
export async function submit(world: TestWorld, chain: LocalChain, answer: Json): Promise<string> {
  // EAS 0.26 has other parameters: GET / returns the functions of each chain's contract.
  const { chains } = (await world.get('/')).body
  const { eas, abi } = chains.find(({ id }: Json) => id === chain.chain.id)
  return attestByDelegation(chain, new Contract(eas, abi), answer)
}

/** Requests a signature for EAS's proxy, submits it and returns the UID. */
export async function submitByProxy(world: TestWorld, chain: LocalChain, answer: Json): Promise<string> {
  const again = await ask(world, chain, 'resign', { ...answer, submission: 'proxy' })
  const abi = JSON.parse(readFileSync('abi/EAS.json', 'utf8')) as InterfaceAbi
  return attestByDelegation(chain, new Contract(chain.proxy, abi), again)
}

/** Submits an answer. Throws the name and the arguments of the error that the resolver reverts with. */
async function attestByDelegation(chain: LocalChain, contract: Contract, answer: Json): Promise<string> {
  const by = contract.connect(await chain.provider.getSigner(0)) as Contract
  const submission = by.getFunction('attestByDelegation')
  try {
    await submission.staticCall(answer.attestByDelegation)
  } catch (error) {
    const { data } = error as { data?: string }
    const known = data && new Interface(artifact('NearbyToken').abi).parseError(data)
    throw known ? new Error(`${known.name}(${known.args.join()})`) : error
  }
  const { logs } = await mined(chain, (await submission.send(answer.attestByDelegation)).hash)
  return logs.find(({ address }) => address.toLowerCase() === chain.chain.eas.toLowerCase())!.data
}
