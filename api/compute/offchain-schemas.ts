import { Type, type TProperties } from '@sinclair/typebox'
import { address, components, constant, named, oneOfTexts, ref, uid } from '../http/schema'

/** Schemas of EAS offchain attestations, for documentation only: src/eas checks each field. */

/** Marks an object whose further fields are ignored: see OPEN of openapi-components.ts. */
const open = <P extends TProperties>(description: string, properties: P, title?: string) =>
  Type.Object(properties, {
    description,
    ...(title !== undefined && { title }),
    unevaluatedProperties: true,
  })
const whole = (description: string) =>
  Type.Unsafe<number | string>({
    type: ['integer', 'string'],
    minimum: 0,
    pattern: '^(0|[1-9][0-9]*)$',
    description,
  })

/** The signed typed data of an offchain attestation. */
const TYPED_DATA = {
  version: Type.Optional(
    Type.Integer({
      description: 'Version of the offchain attestation, where the message has one too.',
      minimum: 0,
      maximum: 2,
    }),
  ),
  uid: uid('The UID that its content hashes to.'),
  domain: open("EIP-712 domain: the EAS of the request's chain.", {
    name: constant('EAS Attestation', 'Its name.'),
    version: Type.String({ description: 'A version that EAS has had.', examples: ['1.0.0'] }),
    chainId: whole('The chain.'),
    verifyingContract: address('The EAS contract.'),
  }),
  primaryType: oneOfTexts(
    ['Attest', 'Attestation'],
    'Name of the signed type; of some files of version 0 `Attestation`.',
  ),
  types: Type.Unsafe<Record<string, { name: string; type: string }[]>>({
    type: 'object',
    description: 'The signed type and its fields.',
    additionalProperties: Type.Array(
      Type.Object(
        { name: Type.String({ description: 'Its name.' }), type: Type.String({ description: 'Its type.' }) },
        { description: 'A field.' },
      ),
      { description: 'Its fields, in order.' },
    ),
  }),
  message: open('What was attested.', {
    version: Type.Optional(Type.Integer({ description: 'From version 1 on.', minimum: 0, maximum: 2 })),
    schema: uid('UID of the schema.'),
    recipient: address('The recipient, or the zero address.'),
    time: whole('Unix seconds.'),
    expirationTime: whole('Unix seconds; 0 is never.'),
    revocable: Type.Boolean({ description: 'Whether its signer may revoke it.' }),
    refUID: uid('UID of an attestation that it refers to, or zero.'),
    data: Type.String({ description: 'The encoded location.', pattern: '^0x([0-9a-fA-F]{2})*$' }),
    salt: Type.Optional(uid('In version 2: 32 bytes in hex.')),
  }),
  signature: Type.Unsafe<object | string>({
    description:
      'The signature: of a key, or of a smart account (ERC-1271, ERC-6492) at the address of the signer.',
    anyOf: [
      open(
        'In three parts.',
        {
          v: whole('27 or 28 (0 and 1 are taken as these).'),
          r: uid('32 bytes in hex'),
          s: uid('32 bytes in hex'),
        },
        'r, s and v',
      ),
      open(
        'In the two parts of EIP-2098; `vs` is taken for `yParityAndS`.',
        { r: uid('32 bytes in hex'), yParityAndS: uid('32 bytes in hex') },
        'r and yParityAndS',
      ),
      Type.String({
        title: 'Bytes',
        description:
          "Whole, in hex: a key's 65 bytes, or the 64 of EIP-2098; of an account at most 4,096 bytes.",
        pattern: '^0x([0-9a-fA-F]{2})+$',
        maxLength: 8_194,
      }),
    ],
  }),
}
const SIGNER = address('Who signed it.')
const OffchainFile = named(
  'OffchainFile',
  open(
    "The file that EAS's explorer and library give out.",
    { sig: open('The signed typed data.', TYPED_DATA), signer: SIGNER },
    'Offchain attestation, as a file',
  ),
)
const OffchainObject = named(
  'OffchainObject',
  open(
    "The library's own object, with `signer` in it.",
    { ...TYPED_DATA, signer: SIGNER },
    "Offchain attestation, as the library's object",
  ),
)
export const OffchainAttestation = named(
  'OffchainAttestation',
  Type.Unsafe<unknown>({
    description:
      "An EAS offchain attestation (version 0, 1 or 2) exactly as its signer's software or the explorer's file has it. Its UID, signature, chain, contract, times and revocation are checked before it is used.",
    anyOf: [ref(OffchainFile), ref(OffchainObject)],
  }),
)
export const OFFCHAIN_COMPONENTS = components(OffchainFile, OffchainObject, OffchainAttestation)
