import { readdirSync } from 'node:fs'
import { Interface, getAddress, type ParamType } from 'ethers'
import { format } from 'oxfmt'
import { describe, expect, test } from 'vitest'
import { parseAbiItem, toFunctionSelector, type AbiFunction } from 'viem'
import { CHAINS, type Chain } from '../src/chains'
import { DELEGATED_ABIS, type AttestLayout } from '../src/eas'

/**
 * Generates the descriptors of clear-signing/ (ERC-7730 version 2, clear-signing/README.md) from the tables
 * of chains and of functions: `npx vitest run test/clear-signing.test.ts -u` writes them.
 */
interface Field {
  path: string
  label?: string
  format?: string
  params?: object
  visible?: 'never' | { ifNotIn: (string | number)[] }
}
type Formats = Record<string, { intent: string; fields: Field[] }>

const SCHEMA = '../../specs/erc7730-v2.schema.json'
const ZERO_WORD = `0x${'0'.repeat(64)}`
const ACCOUNT = { format: 'addressName', params: { types: ['wallet', 'eoa', 'contract'] } }
const TIME = { format: 'date', params: { encoding: 'timestamp' } }
const RAW = { format: 'raw' }

/** Display of an attestation's parameters, by name. The rest of the signature is never shown. */
const SHOWN: Readonly<Record<string, Omit<Field, 'path'>>> = {
  schema: { label: 'Schema', ...RAW },
  attester: { label: 'Attester (who signed)', ...ACCOUNT },
  recipient: { label: 'Recipient', ...ACCOUNT },
  data: { label: 'Attested data (encoded)', ...RAW },
  // Zero means that it never expires.
  expirationTime: { label: 'Expires', ...TIME, visible: { ifNotIn: [0] } },
  revocable: { label: 'Can be revoked', ...RAW },
  refUID: { label: 'Refers to attestation', ...RAW, visible: { ifNotIn: [ZERO_WORD] } },
  value: { label: 'Amount for the resolver', format: 'amount', visible: { ifNotIn: [0] } },
  deadline: { label: 'Signature valid until', ...TIME },
}
const INTENTS: Readonly<Record<string, string>> = {
  attestByDelegation: 'Submit a signed attestation',
  multiAttestByDelegation: 'Submit signed attestations',
}

/** Paths of a parameter's parts in ERC-7730's notation, each with the part's own name and type. */
function leaves(parameter: ParamType, path: string): { path: string; name: string; type: string }[] {
  const { arrayChildren, components, name, type } = parameter
  if (arrayChildren)
    return leaves(arrayChildren, `${path}.[]`).map((leaf) => ({ ...leaf, name: leaf.name || name }))
  if (components) return components.flatMap((part) => leaves(part, `${path}.${part.name}`))
  return [{ path, name, type }]
}

/**
 * Functions of a layout by ERC-7730's keys, which consist of the function's name and its parameters with
 * their names.
 */
function formatsOf(layout: AttestLayout): Formats {
  const contract = new Interface(DELEGATED_ABIS[layout])
  const declared = DELEGATED_ABIS[layout].filter((each) => each.startsWith('function '))
  return Object.fromEntries(
    declared.map((text) => {
      const key = /^function (.*) payable returns/.exec(text)![1]!
      const { name, inputs } = contract.getFunction(key.split('(')[0]!)!
      const parts = inputs.flatMap((input) => leaves(input, input.name))
      const order = Object.keys(SHOWN)
      const fields = parts
        .map(({ path, name: part }): Field => ({ path, ...(SHOWN[part] ?? { visible: 'never' }) }))
        .sort((a, b) => rank(a) - rank(b))
      function rank({ label }: Field): number {
        const at = order.findIndex((part) => SHOWN[part]!.label === label)
        return at < 0 ? order.length : at
      }
      return [key, { intent: INTENTS[name]!, fields }]
    }),
  )
}

/** A contract before 1.1 has no deadline. */
const formOf = (version: string): AttestLayout => (/^(0|1\.0)\./.test(version) ? 'legacy' : 'v1')
const formsOf = ({ domainVersions }: Chain) => [...new Set(domainVersions.map(formOf))]
const versionOrder = (a: string, b: string) => a.localeCompare(b, 'en', { numeric: true })

const INFO = { info: { url: 'https://attest.org' } }

/** Descriptors by file name. Chains whose contracts may have the same functions share a file. */
const descriptors: Record<string, object> = Object.fromEntries(
  [...new Set(CHAINS.map((chain) => formsOf(chain).join()))].map((forms) => {
    const chains = CHAINS.filter((chain) => formsOf(chain).join() === forms)
    const versions = [...new Set(chains.flatMap(({ domainVersions }) => domainVersions))].sort(versionOrder)
    const range = [...new Set([versions[0], versions.at(-1)])].join('-to-')
    return [
      `calldata-EAS-${range}.json`,
      {
        $schema: SCHEMA,
        $comment: `EAS ${versions.join(', ')} of ${chains.map(({ slug }) => slug).join(', ')}`,
        context: {
          contract: {
            deployments: chains.map(({ id, eas }) => ({ chainId: id, address: getAddress(eas) })),
          },
        },
        metadata: { owner: 'Ethereum Attestation Service', contractName: 'EAS', ...INFO },
        display: { formats: Object.assign({}, ...formsOf(chains[0]!).map(formatsOf)) as Formats },
      },
    ]
  }),
)
descriptors['common-PermissionedEIP712Proxy.json'] = {
  $schema: SCHEMA,
  $comment: 'To be included by a descriptor that names the deployments and the owner',
  metadata: { contractName: 'PermissionedEIP712Proxy', ...INFO },
  display: { formats: formatsOf('v1') },
}

test.each(Object.keys(descriptors))('the descriptor %s matches the tables', async (file) => {
  const { code: text } = await format(file, JSON.stringify(descriptors[file]), { printWidth: 110 })
  await expect(text).toMatchFileSnapshot(`../clear-signing/${file}`)
})
test('the folder has only the descriptors of known layouts', () => {
  const files = readdirSync('clear-signing').filter((file) => file.endsWith('.json'))
  expect(files.sort()).toEqual(Object.keys(descriptors).sort())
})
test('each chain has a descriptor', () => {
  const found = Object.values(descriptors).flatMap(
    (each) =>
      (each as { context?: { contract: { deployments: object[] } } }).context?.contract.deployments ?? [],
  )
  expect(found).toHaveLength(CHAINS.length)
})

/** Labels and values in order, as a wallet derives them from a descriptor and the parameters of a call. */
function shown(fields: readonly Field[], parameters: Record<string, unknown>): [string, unknown][] {
  const follow = (value: unknown, steps: string[]): unknown[] => {
    const [step, ...rest] = steps
    if (step === undefined) return [value]
    if (step === '[]') return (value as unknown[]).flatMap((each) => follow(each, rest))
    expect(value).toHaveProperty(step)
    return follow((value as Record<string, unknown>)[step], rest)
  }
  return fields.flatMap(({ path, label, visible }) =>
    follow(parameters, path.split('.'))
      .filter((value) => visible !== 'never' && !visible?.ifNotIn.some((hidden) => hidden == value))
      .map((value): [string, unknown] => [label!, value]),
  )
}
const TYPES: Readonly<Record<string, RegExp>> = {
  addressName: /^address$/,
  date: /^uint64$/,
  amount: /^uint256$/,
  raw: /^(bytes|bytes32|bool)$/,
}

describe.each(['legacy', 'v1', 'v2'] as const)('the functions of layout %s', (layout) => {
  const formats = Object.entries(formatsOf(layout))
  const contract = new Interface(DELEGATED_ABIS[layout])

  test.each(formats)('include %s, which is the same when another library encodes it', (key) => {
    const read = parseAbiItem(`function ${key}` as 'function f()') as unknown as AbiFunction
    expect(toFunctionSelector(read)).toBe(contract.getFunction(read.name)!.selector)
  })
  test.each(formats)(
    'include %s, whose parameters are each shown once, or belong to the signature',
    (key, { fields }) => {
      const { inputs } = contract.getFunction(key.split('(')[0]!)!
      const parts = inputs.flatMap((input) => leaves(input, input.name))
      expect(fields.map(({ path }) => path).sort()).toEqual(parts.map(({ path }) => path).sort())
      for (const { path, format, visible } of fields) {
        const { type, name } = parts.find((part) => part.path === path)!
        if (visible === 'never') expect(['v', 'r', 's']).toContain(name)
        else expect([format, TYPES[format!]!.test(type)]).toEqual([format, true])
      }
    },
  )
  test('show an answer with readable labels and values', () => {
    const [attester, recipient] = [`0x${'a1'.repeat(20)}`, `0x${'b2'.repeat(20)}`].map(getAddress)
    const schema = `0x${'c3'.repeat(32)}`
    const data = {
      recipient,
      expirationTime: 0n,
      revocable: true,
      refUID: ZERO_WORD,
      data: '0x1234',
      value: 0n,
    }
    const signature = { v: 27n, r: schema, s: schema }
    const deadline = layout === 'legacy' ? {} : { deadline: 1_795_251_728n }
    const request = { schema, data, signature, attester, ...deadline }
    const call = contract.encodeFunctionData('attestByDelegation', [request])
    const decoded = contract.decodeFunctionData('attestByDelegation', call).toObject(true)
    const [, single] = formats.find(([key]) => key.startsWith('attest'))!
    const lines = [
      ['Schema', schema],
      ['Attester (who signed)', attester],
      ['Recipient', recipient],
      ['Attested data (encoded)', '0x1234'],
      ['Can be revoked', true],
      ...(layout === 'legacy' ? [] : [['Signature valid until', 1_795_251_728n]]),
    ]
    expect(shown(single.fields, decoded)).toEqual(lines)

    const unusual = { ...data, expirationTime: 1n, refUID: schema, value: 5n }
    const several = {
      schema,
      data: [data, unusual],
      signatures: [signature, signature],
      attester,
      ...deadline,
    }
    const [, multi] = formats.find(([key]) => key.startsWith('multi'))!
    expect(shown(multi.fields, { requests: [several] })).toEqual([
      ...lines.slice(0, 3),
      ...lines.slice(2, 4),
      lines[3],
      ['Expires', 1n],
      ...[lines[4], lines[4]],
      ['Refers to attestation', schema],
      ['Amount for the resolver', 5n],
      ...lines.slice(5),
    ])
  })
})
