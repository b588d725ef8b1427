import { Type, type TProperties } from '@sinclair/typebox'
import { address, components, constant, named, objectOf, oneOfTexts, ref, uid } from '../http/schema'

/** Schemas of EAS offchain attestations, for documentation only: src/eas checks each field. */

/** Marks an object whose further fields are ignored: see OPEN of openapi-components.ts. */
const open = <P extends TProperties>(description: string, properties: P, title?: string) =>
  Type.Object(properties, { description, ...(title !== undefined && { title }), unevaluatedProperties: true })
const whole = (description: string) =>
  Type.Unsafe<number | string>({
    type: ['integer', 'string'],
    minimum: 0,
    pattern: '^(0|[1-9][0-9]*)$',
    description,
  })

const TYPED_DATA = {
  version: Type.Optional(
    Type.Integer({
      description: 'Version of the offchain attestation; in the message, too, if it has one.',
      minimum: 0,
      maximum: 2,
    }),
  ),
  uid: uid('UID: the hash of the content.'),
  domain: open("EIP-712 domain: the EAS of the request's chain.", {
    name: constant('EAS Attestation', 'Its name.'),
    version: Type.String({ description: 'A version of EAS.', examples: ['1.0.0'] }),
    chainId: whole('The chain.'),
    verifyingContract: address('The EAS contract.'),
  }),
  primaryType: oneOfTexts(
    ['Attest', 'Attestation'],
    'Name of the signed type; `Attestation` in some files of version 0.',
  ),
  types: Type.Unsafe<Record<string, { name: string; type: string }[]>>({
    type: 'object',
    description: 'The signed type and its fields.',
    additionalProperties: Type.Array(
      objectOf('A field.', {
        name: Type.String({ description: 'Its name.' }),
        type: Type.String({ description: 'Its type.' }),
      }),
      { description: 'Its fields, in order.' },
    ),
  }),
  message: open('Attested content.', {
    version: Type.Optional(Type.Integer({ description: 'From version 1 on.', minimum: 0, maximum: 2 })),
    schema: uid('UID of the schema.'),
    recipient: address('The recipient, or the zero address.'),
    time: whole('Unix seconds.'),
    expirationTime: whole('Unix seconds; 0 is never.'),
    revocable: Type.Boolean({ description: 'True if the signer may revoke it.' }),
    refUID: uid('UID of an attestation that it refers to, or zeros.'),
    data: Type.String({ description: 'The encoded location.', pattern: '^0x([0-9a-fA-F]{2})*$' }),
    salt: Type.Optional(uid('In version 2: 32 bytes in hex.')),
  }),
  signature: Type.Unsafe<object | string>({
    description:
      'Signature of a key, or of a smart account (ERC-1271, ERC-6492) at the address of the signer.',
    anyOf: [
      open(
        'Signature in three parts.',
        {
          v: whole('27 or 28 (0 and 1 are read as 27 and 28).'),
          r: uid('32 bytes in hex'),
          s: uid('32 bytes in hex'),
        },
        'r, s and v',
      ),
      open(
        'Signature in the two parts of EIP-2098; `vs` is accepted for `yParityAndS`.',
        { r: uid('32 bytes in hex'), yParityAndS: uid('32 bytes in hex') },
        'r and yParityAndS',
      ),
      Type.String({
        title: 'Bytes',
        description:
          'Signature in hex: 65 bytes of a key, 64 in the form of EIP-2098; at most 4,096 bytes of a smart account.',
        pattern: '^0x([0-9a-fA-F]{2})+$',
        maxLength: 8_194,
      }),
    ],
  }),
}
const SIGNER = address('Signer.')
const OffchainFile = named(
  'OffchainFile',
  open(
    "File as written by EAS's explorer and library.",
    { sig: open('The signed typed data.', TYPED_DATA), signer: SIGNER },
    'Offchain attestation, as a file',
  ),
)
const OffchainObject = named(
  'OffchainObject',
  open(
    'Object of the library, with the member `signer`.',
    { ...TYPED_DATA, signer: SIGNER },
    "Offchain attestation, as the library's object",
  ),
)
export const OffchainAttestation = named(
  'OffchainAttestation',
  Type.Unsafe<unknown>({
    description:
      "An EAS offchain attestation (version 0, 1 or 2) exactly as written by the signer's software " +
      'or the explorer. Its UID, signature, chain, contract, times and revocation are checked ' +
      'before it is used.',
    anyOf: [ref(OffchainFile), ref(OffchainObject)],
  }),
)
export const OFFCHAIN_COMPONENTS = components(OffchainFile, OffchainObject, OffchainAttestation)
