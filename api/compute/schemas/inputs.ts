import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { type InputRow, OPERATION_ROWS } from '../../../src/operations'
import { ref as refByName, type Schema } from '../../http/openapi-components'
import { named, objectOf, ref, uid } from '../../http/schema'
import { unchecked, withRules } from '../../http/validation'
import { OffchainAttestation } from '../offchain-schemas'
import { chainId, hash, object } from './fields'

const ATTESTED_UID = 'UID of an attestation on the chain of the request.'

/** Schemas of GeoJSON of these types: a geometry, or a Feature or FeatureCollection of one. */
function geoJsonOf(types: InputRow['accepts']): Schema[] {
  if (!types) return ['Geometry', 'Feature', 'FeatureCollection'].map(refByName)
  const geometries = types.map(refByName)
  const narrowed = (name: string, properties: Schema): Schema => ({
    ...{ title: name, allOf: [refByName(name), { type: 'object', properties }] },
  })
  const feature = narrowed('Feature', { geometry: { anyOf: geometries } })
  return [
    ...geometries,
    feature,
    narrowed('FeatureCollection', { features: { type: 'array', items: feature } }),
  ]
}
const salted = (types: InputRow['accepts']) =>
  object(
    'GeoJSON with a salt',
    'Its reference is the keccak256 of the salt and the plain reference, so that an answer on a ' +
      'chain does not reveal the geometry.',
    {
      geometry: { anyOf: geoJsonOf(types) } as unknown as TSchema,
      salt: Type.String({
        description: '32 random bytes, not all of them zero.',
        pattern: '^0x(?!0{64}$)[0-9a-fA-F]{64}$',
      }),
    },
  )

const FORMS =
  'in one of five forms: the UID of an onchain attestation (as a string, or as `{"uid"}`); ' +
  'GeoJSON; GeoJSON with a salt, whose reference reveals nothing about the geometry ' +
  '(`{"geometry", "salt"}`); an offchain attestation at a URI (`{"uid", "uri"}`); an ' +
  'offchain attestation itself (`{"attestation"}`).'
export const inputName = (types: InputRow['accepts'] = []) => `${types.join('Or')}Input`
/** Schema of an input, for documentation: the resolver and the kernel check it. */
const inputOf = (types?: InputRow['accepts']) =>
  named(
    inputName(types),
    unchecked({
      description: `A ${types?.join(' or ') ?? 'geometry'}, ${FORMS}`,
      anyOf: [
        uid(ATTESTED_UID, { title: 'UID' }),
        object('UID as object', 'UID of an attestation, as an object.', { uid: uid(ATTESTED_UID) }),
        ...geoJsonOf(types),
        salted(types),
        object(
          'UID and URI',
          'An offchain attestation that the service fetches over https on port 443, or from IPFS.',
          {
            uid: uid('Expected UID of the document.'),
            uri: Type.String({
              description: 'Where it is.',
              format: 'uri',
              examples: [
                'https://example.org/attestation.json',
                'ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi',
              ],
            }),
          },
        ),
        object('Offchain attestation', 'A complete offchain attestation.', {
          attestation: ref(OffchainAttestation),
        }),
      ],
    } as unknown as TSchema),
  )
export const INPUTS = new Map(
  OPERATION_ROWS.flatMap(([, { inputs }]) =>
    inputs.map(({ accepts }) => [inputName(accepts), inputOf(accepts)]),
  ),
)

export const ReferenceRequest = Type.Object(
  {
    chainId: Type.Optional(
      chainId('Accepted as in other requests. A geometry has the same reference on every chain.'),
    ),
    geometry: withRules(
      unchecked({
        description: 'A GeoJSON geometry, or a Feature or FeatureCollection of one, with or without a salt.',
        anyOf: [...geoJsonOf(undefined), salted(undefined)],
      } as unknown as TSchema),
      { missing: 'missing; expected a GeoJSON geometry' },
    ),
  },
  { title: 'Request of reference', additionalProperties: false },
)
export type ReferenceRequest = Static<typeof ReferenceRequest>
export const Reference = objectOf('Entry of `inputRefs` for this geometry.', {
  inputRef: hash('keccak256 of the canonical JSON (RFC 8785) of the geometry.'),
})
export type Reference = Static<typeof Reference>
