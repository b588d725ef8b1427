import { type Static, Type } from '@sinclair/typebox'
import { parseAddress } from '../../../src/eas'
import { OPERATION_ROWS } from '../../../src/operations'
import { address, namedObject, uid } from '../../http/schema'
import { withRules } from '../../http/validation'
import { BatchResult } from './answers'
import { hash } from './fields'
import { CHAIN_FIRST, CHAIN_ID, LANDING, parametersOf, ATTEST_AS } from './requests'

const MAX_UIDS = 1_000
const CONTAINS = OPERATION_ROWS.find(([name]) => name === 'contains')![1]
export const EXPECTED_ZONES = 'expected {"uids"}, or {"prover"}, {"schema"} or both'
const EXPECTED_ADDRESS = 'expected an address, 0x and 40 hex digits'

export const ZonesRequest = withRules(
  Type.Object(
    {
      chainId: CHAIN_ID,
      ...ATTEST_AS,
      ...{ geometry: parametersOf(CONTAINS).geometry! },
      zones: withRules(
        Type.Object(
          {
            uids: Type.Optional(
              Type.Array(uid('UID of an attested polygon on the chain.'), {
                description: 'These zones.',
                minItems: 1,
                maxItems: MAX_UIDS,
              }),
            ),
            prover: Type.Optional(
              withRules(address('All valid zones that this address attested.'), {
                type: EXPECTED_ADDRESS,
                form: EXPECTED_ADDRESS,
                test: (text) => (parseAddress(text) === undefined ? EXPECTED_ADDRESS : undefined),
              }),
            ),
            schema: Type.Optional(uid('All valid zones of this location schema.')),
          },
          {
            description:
              'The zones: `uids` alone, or `prover`, `schema` or both. Zones are attestations whose geometry is a Polygon or a MultiPolygon.',
            additionalProperties: false,
          },
        ),
        { missing: `missing; ${EXPECTED_ZONES}` },
      ),
      ...LANDING,
    },
    { title: 'Request of zones', additionalProperties: false },
  ),
  CHAIN_FIRST,
)
export type ZonesRequest = Static<typeof ZonesRequest> & { geometry: unknown }

const { results, multiAttestByDelegation, ...batch } = BatchResult.properties
export const ZonesResult = namedObject(
  'ZonesResult',
  'Signed answers of the zones that contain a geometry, as a batch.',
  {
    results: Type.Array(results.items, {
      description:
        'A `contains` with the result true per zone that contains the geometry, in the order of UIDs.',
      minItems: 0,
      maxItems: 20,
    }),
    multiAttestByDelegation: { ...multiAttestByDelegation, minItems: 0 },
    ...batch,
    onBoundary: Type.Array(hash('UID of the zone.'), {
      description:
        'Zones whose boundary is at most 0.00 m from the geometry, after rounding to a centimetre, whether they contain it or not.',
    }),
    undecided: Type.Array(
      Type.Object({
        uid: hash('UID of the zone.'),
        reason: Type.String({ description: 'Why it cannot be measured.' }),
      }),
      {
        description:
          'Zones that may contain the geometry, but cannot be measured, in the order of UIDs: of an attester or a schema, at most the 100 oldest whose location cannot be read.',
      },
    ),
    undecidedMore: Type.Boolean({
      description: 'True if the set has more zones whose location cannot be read.',
    }),
    complete: Type.Boolean({
      description: 'True if `undecided` is empty: no other zone of the set contains the geometry.',
    }),
    inputRef: hash('Reference of the geometry.'),
  },
)
export type ZonesResult = Static<typeof ZonesResult>
