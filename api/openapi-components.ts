import { CHAINS } from '../src/chains'
import { COMPUTE_PROBLEMS } from './problems'

/** The named schemas of the API's description (JSON Schema 2020-12): what inputs and answers look like. openapi.ts says where. */

export type Schema = Record<string, unknown>

export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })
export const text = (description: string, more: Schema = {}): Schema => ({
  type: 'string',
  description,
  ...more,
})
export const number = (description: string, more: Schema = {}): Schema => ({
  type: 'number',
  description,
  ...more,
})
export const integer = (description: string, more: Schema = {}): Schema => ({
  type: 'integer',
  description,
  ...more,
})
export const list = (items: Schema, description: string, more: Schema = {}): Schema => ({
  type: 'array',
  items,
  description,
  ...more,
})
/** An object of these fields, all required but the ones named. */
export const object = (
  description: string,
  properties: Record<string, Schema>,
  optional: readonly string[] = [],
): Schema => ({
  type: 'object',
  description,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
})
const orNull = (schema: Schema): Schema => ({ ...schema, type: [schema.type, 'null'] })

export const UID = { pattern: '^0x[0-9a-fA-F]{64}$' }
export const ADDRESS = { pattern: '^0x[0-9a-fA-F]{40}$' }
const HEX = { pattern: '^0x([0-9a-f]{2})*$' }
const SIGNATURE = text('r, s and v: 65 bytes in hex, low s, v 27 or 28.', { pattern: '^0x[0-9a-f]{130}$' })
const TIME = { format: 'date-time' }
export const CHAIN_ID = integer(
  'The chain whose EAS shall accept the answer, and on which all UIDs lie. `GET /` lists the ones that can be signed for.',
  { examples: [84532] },
)
export const SCHEMA_UID = text(
  "UID of the schema to attest under. Its registered types must be those of the payload, in order. Default: the deployment's own (`GET /`).",
  UID,
)
export const RECIPIENT = text(
  'Address that receives the attestation. In mixed letter case its checksum must be right. Default: the zero address.',
  ADDRESS,
)
const DEADLINE = integer(
  'Unix seconds after which the signature is no longer taken. (The EAS of sepolia and arbitrum does not enforce it.)',
)
const NONCE = integer(
  "The attester's nonce that was signed. It must be the contract's when submitted: of results signed at one nonce only one can land.",
  { minimum: 0 },
)

// --- Geometries ---

/**
 * Says that further fields are passed over. (`additionalProperties: true` says the same, but becomes an index signature in
 * generated types, which no interface has: a Polygon of @types/geojson would not be one.)
 */
const OPEN = { unevaluatedProperties: true }
const geometry = (type: string, coordinates: Schema, description: string): Schema => ({
  ...object(description, { type: { const: type }, coordinates }),
  title: type,
  ...OPEN,
})
const positions = (description: string, minItems = 1): Schema =>
  list(ref('Position'), description, { minItems })
const RINGS = list(ref('Ring'), 'The outer ring, then its holes.', { minItems: 1 })

const GEOMETRIES: Record<string, Schema> = {
  Position: list(
    { type: 'number' },
    'Longitude (-180 to 180) and latitude (-90 to 90) in degrees (WGS84); an altitude is ignored by the measure, and part of the reference.',
    { minItems: 2, maxItems: 3 },
  ),
  Ring: positions(
    'A closed ring: its last position is its first. It bounds its smaller side, whatever its winding, and must not cross itself.',
    4,
  ),
  Point: geometry('Point', ref('Position'), 'One place.'),
  MultiPoint: geometry('MultiPoint', positions('Places.'), 'Several places.'),
  LineString: geometry('LineString', positions("The line's positions.", 2), 'A line of geodesic edges.'),
  MultiLineString: geometry(
    'MultiLineString',
    list(positions("A line's positions.", 2), 'Lines.', { minItems: 1 }),
    'Several lines.',
  ),
  Polygon: geometry('Polygon', RINGS, 'A region.'),
  MultiPolygon: geometry(
    'MultiPolygon',
    list(RINGS, 'Polygons.', { minItems: 1 }),
    'Several regions that do not overlap.',
  ),
  GeometryCollection: {
    ...object('Geometries of any types, as one.', {
      type: { const: 'GeometryCollection' },
      geometries: list(ref('Geometry'), 'Its parts; collections nest 8 deep at most.', { minItems: 1 }),
    }),
    title: 'GeometryCollection',
    ...OPEN,
  },
  Geometry: {
    description:
      'A GeoJSON geometry (RFC 7946), 100,000 positions at most. Edges are shortest geodesics, not lines on a map.',
    oneOf: [
      'Point',
      'MultiPoint',
      'LineString',
      'MultiLineString',
      'Polygon',
      'MultiPolygon',
      'GeometryCollection',
    ].map(ref),
  },
  Feature: {
    ...object(
      'A GeoJSON Feature, taken as its geometry.',
      {
        type: { const: 'Feature' },
        geometry: ref('Geometry'),
        properties: { description: 'Passed over, as are other fields.' },
        id: { description: 'Passed over.' },
        bbox: { description: 'Passed over.' },
      },
      ['properties', 'id', 'bbox'],
    ),
    title: 'Feature',
    ...OPEN,
  },
  FeatureCollection: {
    ...object(
      'A GeoJSON FeatureCollection of exactly one Feature, taken as its geometry.',
      {
        type: { const: 'FeatureCollection' },
        features: list(ref('Feature'), 'The one Feature.', { minItems: 1, maxItems: 1 }),
        bbox: { description: 'Passed over.' },
      },
      ['bbox'],
    ),
    title: 'FeatureCollection',
    ...OPEN,
  },
  Input: {
    description:
      'A geometry, in one of four forms: the UID of an onchain attestation (as a string, or as `{"uid"}`); GeoJSON; an offchain attestation behind a URI (`{"uid", "uri"}`); an offchain attestation itself (`{"attestation"}`).',
    anyOf: [
      {
        type: 'string',
        title: 'UID',
        description: 'UID of an attestation on the chain of the request.',
        ...UID,
      },
      {
        ...object('The same as an object.', {
          uid: text('UID of an attestation on the chain of the request.', UID),
        }),
        title: 'UID as object',
        additionalProperties: false,
      },
      ref('Geometry'),
      ref('Feature'),
      ref('FeatureCollection'),
      {
        ...object('An offchain attestation that the service fetches: over https on port 443, or from IPFS.', {
          uid: text('Its UID, which the document must have.', UID),
          uri: text('Where it is.', {
            format: 'uri',
            examples: [
              'https://example.org/attestation.json',
              'ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi',
            ],
          }),
        }),
        title: 'UID and URI',
        additionalProperties: false,
      },
      {
        ...object('An offchain attestation, whole.', { attestation: ref('OffchainAttestation') }),
        title: 'Offchain attestation',
        additionalProperties: false,
      },
    ],
  },
}

// --- Offchain attestations ---

const WHOLE = { type: ['integer', 'string'], minimum: 0, pattern: '^(0|[1-9][0-9]*)$' }
const V_R_S = object('The signature.', {
  v: { ...WHOLE, description: '27 or 28 (0 and 1 are taken as these).' },
  r: text('32 bytes in hex', UID),
  s: text('32 bytes in hex', UID),
})
/** The signed typed data of an offchain attestation. */
const TYPED_DATA: Record<string, Schema> = {
  version: integer('Version of the offchain attestation, where the message has one too.', {
    minimum: 0,
    maximum: 2,
  }),
  uid: text('The UID that its content hashes to.', UID),
  domain: {
    ...object("EIP-712 domain: the EAS of the request's chain.", {
      name: { const: 'EAS Attestation', description: 'Its name.' },
      version: text('A version that EAS has had.', { examples: ['1.0.0'] }),
      chainId: { ...WHOLE, description: 'The chain.' },
      verifyingContract: text('The EAS contract.', ADDRESS),
    }),
    ...OPEN,
  },
  primaryType: {
    enum: ['Attest', 'Attestation'],
    description: 'Name of the signed type; of some files of version 0 `Attestation`.',
  },
  types: {
    type: 'object',
    description: 'The signed type and its fields.',
    additionalProperties: list(
      object('A field.', { name: text('Its name.'), type: text('Its type.') }),
      'Its fields, in order.',
    ),
  },
  message: {
    ...object(
      'What was attested.',
      {
        version: integer('From version 1 on.', { minimum: 0, maximum: 2 }),
        schema: text('UID of the schema.', UID),
        recipient: text('The recipient, or the zero address.', ADDRESS),
        time: { ...WHOLE, description: 'Unix seconds.' },
        expirationTime: { ...WHOLE, description: 'Unix seconds; 0 is never.' },
        revocable: { type: 'boolean', description: 'Whether its signer may revoke it.' },
        refUID: text('UID of an attestation that it refers to, or zero.', UID),
        data: text('The encoded location.', { pattern: '^0x([0-9a-fA-F]{2})*$' }),
        salt: text('In version 2: 32 bytes in hex.', UID),
      },
      ['version', 'salt'],
    ),
    ...OPEN,
  },
  signature: { ...V_R_S, ...OPEN },
}
const OFFCHAIN: Record<string, Schema> = {
  OffchainFile: {
    ...object("The file that EAS's explorer and library give out.", {
      sig: { ...object('The signed typed data.', TYPED_DATA, ['version']), ...OPEN },
      signer: text('Who signed it.', ADDRESS),
    }),
    title: 'Offchain attestation, as a file',
    ...OPEN,
  },
  OffchainObject: {
    ...object(
      "The library's own object, with `signer` in it.",
      { ...TYPED_DATA, signer: text('Who signed it.', ADDRESS) },
      ['version'],
    ),
    title: "Offchain attestation, as the library's object",
    ...OPEN,
  },
  OffchainAttestation: {
    description:
      "An EAS offchain attestation (version 0, 1 or 2) exactly as its signer's software or the explorer's file has it. Its UID, signature, chain, contract, times and revocation are checked before it is used.",
    anyOf: [ref('OffchainFile'), ref('OffchainObject')],
  },
}

// --- Compute ---

const SIGNED: Record<string, Schema> = {
  Attestation: object(
    "What was signed: the arguments of EAS's `attestByDelegation`. expirationTime and value are 0.",
    {
      schema: text('UID of the schema.', UID),
      attester: text("Who signed: the deployment's attester address.", ADDRESS),
      recipient: text('The recipient asked for, or the zero address.', ADDRESS),
      data: text(
        'The ABI-encoded result, by the schema: `uint256 result,string units,bytes32[] inputRefs,uint256 timestamp,string operation` in whole centimeters or square_centimeters; for booleans `bool result,bytes32[] inputRefs,uint256 timestamp,string operation`.',
        HEX,
      ),
      signature: SIGNATURE,
      revocable: { type: 'boolean', description: "The schema's own flag; EAS refuses another." },
      refUID: text('Zero.', UID),
    },
  ),
  DelegatedAttestation: object('What the delegated submission needs besides.', {
    signature: SIGNATURE,
    attester: text('Who signed.', ADDRESS),
    deadline: DEADLINE,
    nonce: NONCE,
    resignToken: text(
      'What the inputs were, in a form that only this service can have written: hand it back to have the same result signed anew (`/compute/v0/resign`).',
    ),
  }),
}

const RESULT = { oneOf: [{ type: 'number' }, { type: 'boolean' }], description: 'The computed value.' }
export const INPUT_REFS = list(
  text('32 bytes in hex.', { pattern: '^0x[0-9a-f]{64}$' }),
  'One reference per input, in order: the UID of an attestation; keccak256 of the canonical JSON of a raw geometry.',
  { minItems: 1 },
)
export const TIMESTAMP = integer('Unix seconds of the computation.')

const EARLIER_DELEGATION = {
  ...{
    signature: text('As in `attestation`.'),
    attester: text('As in `attestation`.', ADDRESS),
    deadline: DEADLINE,
    nonce: NONCE,
  },
  resignToken: text('As it was answered. `resign` needs it.'),
}
/** What may be left in beside the signed parts of an earlier answer. */
export const EARLIER_SAYS = {
  result: { description: 'May be left in; must then be what was signed, as the four below.' },
  units: text('Of numeric results.'),
  operation: text('Name of the operation.'),
  timestamp: TIMESTAMP,
  inputRefs: INPUT_REFS,
}
const MULTI_ATTEST = list(
  object('One `MultiDelegatedAttestationRequest`: results of one schema.', {
    schema: text('UID of the schema.', UID),
    data: list(
      object('`AttestationRequestData`', {
        recipient: text('The recipient.', ADDRESS),
        expirationTime: { const: 0, description: 'Never.' },
        revocable: { type: 'boolean', description: "The schema's own flag." },
        refUID: text('Zero.', UID),
        data: text('The ABI-encoded result.', HEX),
        value: {
          const: '0',
          description: 'Nothing is paid. (A decimal string, which ethers, viem and eas-sdk all take.)',
        },
      }),
      'In the order of the nonces.',
      { minItems: 1 },
    ),
    signatures: list(
      object('A signature.', {
        v: integer('27 or 28'),
        r: text('32 bytes in hex', UID),
        s: text('32 bytes in hex', UID),
      }),
      'Parallel to `data`.',
      { minItems: 1 },
    ),
    attester: text('Who signed.', ADDRESS),
    deadline: DEADLINE,
  }),
  "The argument of EAS's `multiAttestByDelegation`, as it is.",
  { minItems: 1 },
)

const ANSWERS: Record<string, Schema> = {
  ComputeResult: object(
    'A computed result with its signed attestation.',
    {
      result: RESULT,
      units: { enum: ['meters', 'square_meters'], description: 'Of numeric results.' },
      operation: text('Name of the operation; for within `within:<radius in centimetres>`.'),
      timestamp: TIMESTAMP,
      inputRefs: INPUT_REFS,
      attestation: ref('Attestation'),
      delegatedAttestation: ref('DelegatedAttestation'),
    },
    ['units'],
  ),
  EarlierAttestation: object(
    '`attestation` of an earlier answer.',
    {
      ...(SIGNED.Attestation as { properties: Record<string, Schema> }).properties,
      data: text('The ABI-encoded result.', { pattern: '^0x([0-9a-fA-F]{2})+$' }),
      signature: text('As it was answered.', { pattern: '^0x[0-9a-fA-F]{130}$' }),
    },
    ['refUID'],
  ),
  EarlierDelegation: object('`delegatedAttestation` of an earlier answer.', EARLIER_DELEGATION, [
    'signature',
    'attester',
    'resignToken',
  ]),
  ResignableDelegation: object(
    '`delegatedAttestation` of an earlier answer that is to be signed again.',
    EARLIER_DELEGATION,
    ['signature', 'attester'],
  ),
  BatchResult: object(
    'Results signed at consecutive nonces, in order: all can be submitted, one after the other or in one transaction.',
    {
      results: list(ref('ComputeResult'), 'One per operation, in order.', { minItems: 1, maxItems: 20 }),
      deadline: DEADLINE,
      multiAttestByDelegation: MULTI_ATTEST,
    },
  ),
  EarlierBatch: {
    ...object(
      'The answer of an earlier batch, or any earlier answers that are to land together.',
      {
        chainId: integer('The chain that they were signed for.', { examples: [84532] }),
        results: list(
          {
            ...object(
              'An earlier answer, whole or as much of it as is needed.',
              {
                attestation: ref('EarlierAttestation'),
                delegatedAttestation: ref('ResignableDelegation'),
                ...EARLIER_SAYS,
              },
              Object.keys(EARLIER_SAYS),
            ),
            additionalProperties: false,
          },
          'In the order of their new nonces.',
          { minItems: 1, maxItems: 20 },
        ),
        deadline: { ...DEADLINE, description: 'May be left in; must then be that of the results.' },
        multiAttestByDelegation: {
          ...MULTI_ATTEST,
          description: 'May be left in; must then be the call of these results.',
        },
      },
      ['deadline', 'multiAttestByDelegation'],
    ),
    additionalProperties: false,
  },
  Verification: object('What an earlier answer is worth now.', {
    ours: {
      type: 'boolean',
      description: "Whether this deployment's key signed exactly this for this chain.",
    },
    submittable: { type: 'boolean', description: 'Whether the contract would take it now.' },
    reasons: list(text('A sentence.'), 'Why not, where one of the two is false.'),
    says: {
      ...object(
        'What `data` says, decoded; null where it is not ours.',
        {
          result: RESULT,
          units: text('Of numeric results.'),
          operation: text('Name of the operation.'),
          timestamp: TIMESTAMP,
          inputRefs: INPUT_REFS,
        },
        ['units'],
      ),
      type: ['object', 'null'],
    },
    landed: {
      ...object(
        'Whether an attestation on the chain holds this answer, and which one: of several with the same content, the first. Null where it is not ours.',
        {
          status: {
            enum: ['landed', 'not landed', 'unknown'],
            description: "`unknown` where the chain's node does not give the logs that tell it.",
          },
          uid: orNull(text('UID of the attestation.', UID)),
          transactionHash: orNull(text('The transaction that made it.', UID)),
          blockNumber: orNull(integer('Its block.')),
          revoked: { type: ['boolean', 'null'], description: 'Whether it was revoked since.' },
        },
      ),
      type: ['object', 'null'],
    },
    attester: text('Who signs for this chain.', ADDRESS),
    nonce: object("The nonce that was signed, and the contract's now.", {
      signed: integer('The one of the answer.'),
      current: integer('The one at which the contract takes the next signature.'),
    }),
    deadline: DEADLINE,
  }),
  Problem: object('Problem details (RFC 7807).', {
    type: text('Leads to a page that says what it means and what to do.', {
      format: 'uri',
      pattern: `/errors/(${Object.keys(COMPUTE_PROBLEMS).join('|')})$`,
    }),
    title: {
      enum: Object.values(COMPUTE_PROBLEMS).map(({ title }) => title),
      description: 'The kind of error.',
    },
    status: {
      enum: Object.values(COMPUTE_PROBLEMS).map(({ status }) => status),
      description: 'The HTTP status.',
    },
    detail: text('What is wrong with this request, and what would be right.'),
  }),
}

// --- Records ---

const RECORDS: Record<string, Schema> = {
  LocationRecord: object('An attested location.', {
    uid: text('UID of the attestation.', { pattern: '^0x[0-9a-f]{64}$' }),
    chain: text('Slug of its chain.'),
    prover: text('Address that created the attestation.', ADDRESS),
    subject: text('Its recipient; often the prover.', ADDRESS),
    timestamp: text('Time of its block.', TIME),
    event_timestamp: text(
      "When the located event occurred; the attestation's own time for schemas that have none.",
      TIME,
    ),
    srs: text('Spatial reference system, typically `EPSG:4326`.'),
    location_type: text('Format of `location`, such as `geojson-point`.'),
    location: text('The location, as text, as it was attested.'),
    longitude: orNull(
      number('Of points, in degrees; null for others and for what cannot be read for certain.', {
        minimum: -180,
        maximum: 180,
      }),
    ),
    latitude: orNull(number('As longitude.', { minimum: -90, maximum: 90 })),
    recipe_types: list(text('A type.'), 'Types of the proofs that came with it.'),
    recipe_payloads: list(text('Base64.'), 'Their payloads, in parallel.'),
    media_types: list(text('A media type.'), 'Types of the media that came with it.'),
    media_data: list(text('The data.'), 'The media, in parallel.'),
    memo: text('A description; may be empty.'),
    revoked: { type: 'boolean', description: 'Whether it was revoked.' },
    created_at: text('When the record was written here.', TIME),
    updated_at: text('When it last changed here.', TIME),
    problem: orNull(
      text(
        'Why `location` cannot be read for certain, so that there is no geometry; null where there is one. (Beyond the specification.)',
      ),
    ),
  }),
  ListResponse: object(
    'Location records.',
    {
      data: list(ref('LocationRecord'), 'The records.', { maxItems: 1000 }),
      count: integer('How many they are.', { minimum: 0 }),
      limit: integer('The limit applied.', { minimum: 1, maximum: 1000 }),
      offset: integer('The offset applied; 0 with a cursor.', { minimum: 0 }),
      next_cursor: orNull(text('`cursor` of the next page; null at the end.')),
      total: integer('How many match, with `total=true`.', { minimum: 0 }),
      total_exact: {
        type: 'boolean',
        description:
          'Whether `total` is all of them; else there are at least so many, and no more were counted.',
      },
    },
    ['total', 'total_exact'],
  ),
  RecordFeature: object('A location record as a GeoJSON Feature (RFC 7946).', {
    type: { const: 'Feature', description: 'A Feature.' },
    id: text('`<chain>-<uid>`.', { pattern: '^[a-z-]+-0x[0-9a-f]{64}$' }),
    geometry: {
      oneOf: [ref('Geometry'), { type: 'null' }],
      description: 'Our reading of `location`; null where it cannot be read for certain.',
    },
    properties: ref('LocationRecord'),
  }),
  RecordFeatureCollection: object('Location records as GeoJSON (RFC 7946).', {
    type: { const: 'FeatureCollection', description: 'A FeatureCollection.' },
    features: list(ref('RecordFeature'), 'The records.'),
  }),
  Statistics: object('Counts over all records.', {
    total: integer('All of them.'),
    by_chain: object(
      'By chain; those that are coming soon where they have records.',
      Object.fromEntries(CHAINS.map(({ slug }) => [slug, integer(`On ${slug}.`)])),
      CHAINS.filter(({ active }) => !active).map(({ slug }) => slug),
    ),
    by_time: object('By the time of their block.', {
      last_24_hours: integer('Of the last 24 hours.'),
      last_7_days: integer('Of the last 7 days.'),
      last_30_days: integer('Of the last 30 days.'),
    }),
    revoked: integer('Revoked ones.'),
    chains: {
      type: 'object',
      description: 'How far the copy of each chain goes, by slug.',
      additionalProperties: ref('ChainFreshness'),
    },
  }),
  Configuration: object('What the Records API covers.', {
    chains: object(
      'Every known chain; false while it is coming soon.',
      Object.fromEntries(
        CHAINS.map(({ slug }) => [
          slug,
          { type: 'boolean', description: `Whether \`chain=${slug}\` is accepted.` },
        ]),
      ),
    ),
    schema: text('UID of the location schema.', UID),
    schema_fields: text('Its fields.'),
    version: { const: 'v0', description: 'Version of the API.' },
  }),
  RecordsError: object('An error of the Records API, and of whatever lies outside both APIs.', {
    status: { const: 'error', description: 'Always `error`.' },
    message: text('The kind of error.'),
    detail: text('What is wrong, and what would be right.'),
  }),
}

// --- Service ---

const SERVICE: Record<string, Schema> = {
  Information: object('Which deployment this is.', {
    name: text('Name of the service.'),
    version: text('Version of the program.'),
    description: text('What it is.'),
    deployment: text('Which deployment this is, as its operator calls it.'),
    endpoints: object('Every endpoint, with its method.', {
      compute: list(text('Method and address.'), 'The Compute API.'),
      records: list(text('Method and address.'), 'The Records API.'),
      ogc: text('Method and address of the OGC API for GIS software, which describes itself.'),
      graphql: list(text('Method and address.'), 'Raw GraphQL; a browser gets GraphiQL.'),
      health: text('Method and address.'),
      readiness: text('Method and address.'),
      metrics: text('Method and address.'),
      errors: text('Method and address.'),
      openapi: text('Method and address.'),
      documentation: text('Method and address.'),
    }),
    chains: list(
      object(
        'A chain of the Compute API.',
        {
          id: integer('Its ID: `chainId` of requests.'),
          slug: text('Its name.'),
          eas: text('Its EAS contract.', ADDRESS),
          schemaRegistry: text('The contract that schemas are registered with.', ADDRESS),
          attester: text(
            'Who signs for it. A contract that relies on answers accepts this attester only.',
            ADDRESS,
          ),
          ready: { type: 'boolean', description: 'Whether it can be signed for now.' },
          reason: text('Why not.'),
          abi: list(
            text('A function or error, as ethers and viem read it.'),
            'What takes our signatures on this contract, and the errors that it refuses them with; empty while it cannot be signed for.',
          ),
          domain: object('EIP-712 domain of the signatures; absent while the chain cannot be signed for.', {
            name: { const: 'EAS', description: 'Its name.' },
            version: text('The version that the contract signs as.'),
            chainId: integer('The chain.'),
            verifyingContract: text('The EAS contract.', ADDRESS),
          }),
        },
        ['reason', 'domain'],
      ),
      'The chains that can be computed for.',
    ),
    defaultSchemas: object('Schemas of requests that name none.', {
      numeric: text('Of distance, area and length.', UID),
      boolean: text('Of contains, within and intersects.', UID),
    }),
  }),
  Health: object('Whether the process and its database work.', {
    status: { enum: ['healthy', 'unhealthy'], description: 'In a word.' },
    database: { enum: ['connected', 'disconnected'], description: 'Whether the database answers.' },
    version: text('Version of the program.'),
  }),
  Readiness: object('How far the copy of each chain goes.', {
    status: { enum: ['ready', 'not ready'], description: 'Whether every chain is followed closely enough.' },
    database: { enum: ['connected', 'disconnected'], description: 'Whether the database answers.' },
    chains: {
      type: 'object',
      description: 'By slug.',
      additionalProperties: ref('ChainFreshness'),
    },
  }),
  ChainFreshness: object('How far the copy of this chain goes.', {
    status: {
      enum: [
        'ready',
        'not started',
        'reading history',
        'lagging',
        'node behind',
        'indexer silent',
        'in doubt',
      ],
      description: 'In a word.',
    },
    doubt: orNull(
      text('Why the copy of the chain is not to be relied on now; null when nothing speaks against it.'),
    ),
    head_block: orNull(integer("The chain's last block, as its node last said.")),
    indexed_block: orNull(integer('The last block that is in the database.')),
    lag_blocks: orNull(integer('How many lie between.')),
    lag_seconds: orNull(integer('For how long the copy has not been known to be equal to the chain.')),
    head_time: orNull(text("Time of the chain's last block.", TIME)),
    indexed_time: orNull(text('Time of the last block that is in the database.', TIME)),
    withheld_attestations: integer(
      'Attestations that could not be stored: they give no record, and everything else goes on.',
    ),
  }),
  ErrorPage: object('What an error means and what to do.', {
    type: text("The error's `type`.", { format: 'uri' }),
    title: text('Its `title`.'),
    status: integer('Its HTTP status.'),
    meaning: text('What it means.'),
    causes: list(text('A cause.'), 'What causes it.'),
    remedies: list(text('A step.'), 'What to do.'),
  }),
}

/** Every named schema of the document. */
export const COMPONENTS: Readonly<Record<string, Schema>> = {
  ...GEOMETRIES,
  ...OFFCHAIN,
  ...SIGNED,
  ...ANSWERS,
  ...RECORDS,
  ...SERVICE,
}
