import type {
  Feature,
  FeatureCollection,
  GeometryCollection,
  Geometry,
  LineString,
  MultiPolygon,
  Point,
  Polygon,
  Position,
} from 'geojson'
import createClient from 'openapi-fetch'
import type { components, paths } from './schema'

/**
 * A client as a user writes it: openapi-typescript generates `./schema` from /openapi.json
 * (docs/reference/compute.md, Clients). The test compiles this file with it, in strict mode, and runs it
 * against the service. There are no casts.
 */

type Input = components['schemas']['Input']
type LocationRecord = components['schemas']['LocationRecord']
type Problem = components['schemas']['Problem']

const berlin: Point = { type: 'Point', coordinates: [13.4, 52.5] }
const paris: Point = { type: 'Point', coordinates: [2.35, 48.86, 35] }
const park: Polygon = {
  type: 'Polygon',
  coordinates: [
    [
      [13, 52],
      [14, 52],
      [14, 53],
      [13, 53],
      [13, 52],
    ],
  ],
}
const street: LineString = {
  type: 'LineString',
  coordinates: [
    [13.35, 52.51],
    [13.4, 52.52],
  ],
}
const parks: MultiPolygon = { type: 'MultiPolygon', coordinates: [park.coordinates] }
const both: GeometryCollection = { type: 'GeometryCollection', geometries: [berlin, street] }
interface Named {
  name: string
}
const named: Feature<Point, Named> = {
  type: 'Feature',
  id: 7,
  bbox: [13.4, 52.5, 13.4, 52.5],
  properties: { name: 'Berlin' },
  geometry: berlin,
}
const one: FeatureCollection<Point, Named> = { type: 'FeatureCollection', features: [named] }
const anyGeometry: Geometry = park
export const inputs: Input[] = [berlin, paris, park, street, parks, both, named, one, anyGeometry]

/** Calls every documented endpoint except the streams. Throws if a response is an error. */
export async function askEverything(
  baseUrl: string,
  chainId: number,
  uid: string,
  offchain: components['schemas']['OffchainAttestation'],
) {
  const client = createClient<paths, 'application/json' | 'application/problem+json'>({ baseUrl })
  const good = <T>({
    data,
    error,
  }: {
    data?: T
    error?: Problem | components['schemas']['RecordsError']
  }): T => {
    if (data === undefined) throw new Error(error?.detail)
    return data
  }

  const distance = good(
    await client.POST('/compute/v0/distance', {
      body: { chainId, from: berlin, to: { type: 'Point', coordinates: [2.35, 48.86] } },
    }),
  )
  const metres: number = distance.result
  const contained: boolean = good(
    await client.POST('/compute/v0/contains', { body: { chainId, container: park, containee: named } }),
  ).result
  const near: boolean = good(
    await client.POST('/compute/v0/within', { body: { chainId, geometry: uid, target: one, radius: 500 } }),
  ).result
  const meet: boolean = good(
    await client.POST('/compute/v0/intersects', { body: { chainId, geometry1: { uid }, geometry2: both } }),
  ).result
  const large: number = good(
    await client.POST('/compute/v0/area', { body: { chainId, geometry: parks } }),
  ).result
  const long: 'meters' = good(
    await client.POST('/compute/v0/length', { body: { chainId, geometry: street } }),
  ).units
  const around = good(
    await client.POST('/compute/v0/zones', { body: { chainId, geometry: berlin, zones: { uids: [uid] } } }),
  )
  const complete: boolean = around.complete
  const verified = good(
    await client.POST('/compute/v0/distance', {
      body: { chainId, from: { attestation: offchain }, to: berlin },
    }),
  )
  // @ts-expect-error -- a radius is a number
  await client.POST('/compute/v0/within', { body: { chainId, geometry: uid, target: one, radius: '500' } })
  // @ts-expect-error -- the containee is missing
  await client.POST('/compute/v0/contains', { body: { chainId, container: park } })

  const operations = [
    { operation: 'distance' as const, from: berlin, to: paris },
    { operation: 'contains' as const, container: park, geometry: berlin },
  ]
  const batch = good(await client.POST('/compute/v0/batch', { body: { chainId, operations } }))
  const nothing: '0' | undefined = batch.multiAttestByDelegation[0]?.data[0]?.value
  const again = good(await client.POST('/compute/v0/resign', { body: { chainId, ...distance } }))
  const allAgain = good(await client.POST('/compute/v0/resign', { body: { chainId, ...batch } }))
  const nonces: (number | undefined)[] = ('results' in allAgain ? allAgain.results : [allAgain]).map(
    ({ delegatedAttestation }) => delegatedAttestation.nonce,
  )
  const { transaction, attestByDelegation } = good(
    await client.POST('/compute/v0/area', {
      body: { chainId, geometry: park, submission: 'proxy', include: ['transaction'] },
    }),
  )
  const calls: [string | undefined, number] = [transaction?.to, attestByDelegation.deadline]
  const { inputRef } = good(await client.POST('/compute/v0/reference', { body: { geometry: park } }))
  const { ours, landed } = good(await client.POST('/compute/v0/verify', { body: { chainId, ...distance } }))
  const where: string | null | undefined = landed?.uid

  const list = good(
    await client.GET('/api/v0/location-records', {
      params: { query: { chain: 'base-sepolia', limit: 5, total: true } },
    }),
  )
  const records: LocationRecord[] = list.data
  const record = good(await client.GET('/api/v0/location-records/{uid}', { params: { path: { uid } } }))
  const prover: string = record.prover
  const stats: number = good(await client.GET('/api/v0/location-records/stats')).total
  const answers = good(
    await client.GET('/api/v0/answers', { params: { query: { operation: 'distance', limit: 10 } } }),
  )
  const found = await client.GET('/api/v0/answers/{uid}', { params: { path: { uid } } })
  const results: (number | boolean)[] = answers.data.map(({ result }) => result)
  const grouped = good(await client.GET('/api/v0/answers/stats', { params: { query: { by: 'operation' } } }))
  const counted: number = grouped.total
  const { chains } = good(await client.GET('/api/v0/config'))
  const active: boolean = chains['base-sepolia']
  const features = createClient<paths, 'application/geo+json'>({ baseUrl })
  const { data: collection } = await features.GET('/api/v0/location-records', {
    params: { query: { format: 'geojson' } },
  })
  const geometries: (Geometry | null)[] = collection?.features.map(({ geometry }) => geometry) ?? []
  const { data: csv } = await client.GET('/api/v0/location-records', {
    params: { query: { format: 'csv' } },
    parseAs: 'text',
  })
  const text: string | undefined = csv

  const information = good(await client.GET('/'))
  const verifyingContract: string | undefined = information.chains[0]?.domain?.verifyingContract
  const { data: health } = await client.GET('/health')
  // Only the types of the transparency log are compared.
  await client.GET('/log/v0')
  await client.GET('/log/v0/checkpoint', { parseAs: 'text' })
  await client.GET('/log/v0/proof/{leaf}', { params: { path: { leaf: '00'.repeat(32) } }, parseAs: 'text' })
  await client.GET('/log/v0/tile/{path}', { params: { path: { path: '0/000' } }, parseAs: 'arrayBuffer' })
  const healthy: 'healthy' | 'unhealthy' | undefined = health?.status
  const { data: readiness } = await client.GET('/ready')
  const lag: number | null | undefined = readiness?.chains['base-sepolia']?.lag_blocks
  const { data: metrics } = await client.GET('/metrics', { parseAs: 'text' })
  const figures: string | undefined = metrics
  const page = good(await client.GET('/errors/{slug}', { params: { path: { slug: 'invalid-input' } } }))
  const remedies: string[] = page.remedies
  const graphql = await client.POST('/graphql', {
    body: { query: '{ locationRecords(first: 1) { nodes { uid } } }' },
  })
  const tools = await client.POST('/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } })
  const { data: llms } = await client.GET('/llms.txt', { parseAs: 'text' })
  const told: string | undefined = llms
  const { data: document } = await client.GET('/openapi.json')

  const unclosed = { type: 'Polygon' as const, coordinates: [park.coordinates[0]!.slice(1)] }
  const { error } = await client.POST('/compute/v0/area', { body: { chainId, geometry: unclosed } })
  const problem: Problem | undefined = error
  const positions: Position[] = [berlin.coordinates]
  return {
    ...{
      metres,
      contained,
      near,
      meet,
      large,
      long,
      complete,
      counted,
      offchain: verified.inputRefs,
      nothing,
      again: 'results' in again,
      nonces,
      calls,
      inputRef,
      ours,
      where,
    },
    ...{
      records,
      prover,
      stats,
      results,
      answer: found.data?.operation,
      active,
      geometries,
      text,
      verifyingContract,
      healthy,
      lag,
      figures,
      remedies,
      graphql: graphql.data?.data,
      tools: tools.data?.result?.tools,
      told,
      document: document?.openapi,
      problem,
      positions,
    },
  }
}
