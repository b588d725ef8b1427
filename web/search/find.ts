import type { LocationRecord } from '@geospatial-attestation/client'
import type { Feature, Geometry } from 'geojson'
import { wordsOf } from '../../src/words'
import { dayText, lineText } from '../explorer/words'
import { locale, say } from '../messages'
import { geoOnce, LONGEST_MEMO } from '../service'
import { chainName } from '../chains'
import { featureOf } from '../map/extent'
import { keyText, type RecordKey } from '../map/record-layers'
import { positionsIn } from './coordinates'
import { plainOf, similarity } from './similar'
import { townsNamed } from './towns'

/** Hit of a search. */
export interface Hit {
  key: string
  kind: 'position' | 'town' | 'place' | 'attester'
  title: string
  detail: string
  record?: RecordKey
  /** address of the attester whose places are shown */
  attester?: string
  /** loads the features that the map brings into view; empty if the hit has no geometry */
  features: () => Promise<readonly Feature[]>
}

/** Maximum number of places in the results, and of candidates from which similar memos are chosen. */
const [MOST, CANDIDATES] = [6, 200]
/** Number of initial letters of each word that a memo must contain, if no memo contains the whole words. */
const STEM = 2
const COUNTRIES = new Intl.DisplayNames([locale], { type: 'region' })
/** Hashes and addresses, alone with or without 0x, or in a link to a page of this service or another one. */
const HEX_64 = /(?:^|0x)([0-9a-f]{64})(?![0-9a-f])/i
const ADDRESS = /(?:^|0x)([0-9a-f]{40})(?![0-9a-f])/i

/** Finds positions, towns, places, attesters, UIDs and transactions. `signal` aborts the requests. */
export async function find(text: string, signal: AbortSignal): Promise<Hit[]> {
  const wanted = text.trim()
  if (wanted === '') return []
  const [, hash] = HEX_64.exec(wanted) ?? []
  if (hash !== undefined) return byHash(`0x${hash.toLowerCase()}`, signal)
  const [, address] = ADDRESS.exec(wanted) ?? []
  if (address !== undefined) return byAddress(`0x${address}`, signal)
  const positions = positionsIn(wanted).map(positionHit)
  if (positions.length > 0) return positions
  const [towns, places] = await Promise.all([townsNamed(wanted), placesNamed(wanted, signal)])
  return [...places, ...towns.map(townHit)]
}

function positionHit({ longitude, latitude }: { longitude: number; latitude: number }): Hit {
  const { north, south, east, west } = say.search.directions
  const [n, e] = [latitude < 0 ? south : north, longitude < 0 ? west : east]
  const degrees = (value: number) => `${Number(Math.abs(value).toFixed(6))}°`
  return {
    ...{ key: `${longitude},${latitude}`, kind: 'position' },
    title: `${degrees(latitude)} ${n}, ${degrees(longitude)} ${e}`,
    detail: say.search.position,
    features: async () => [pointOf(longitude, latitude)],
  }
}

function townHit(town: Awaited<ReturnType<typeof townsNamed>>[number]): Hit {
  const { name, country, population, longitude, latitude } = town
  return {
    ...{ key: `${name} ${longitude},${latitude}`, kind: 'town', title: name },
    detail: say.search.inhabitants(COUNTRIES.of(country) ?? country, population),
    features: async () => [pointOf(longitude, latitude)],
  }
}

/** Places whose memo contains the words of the text (of its beginning, if it is long), or similar words. */
async function placesNamed(wanted: string, signal: AbortSignal): Promise<Hit[]> {
  const text =
    wanted.length > LONGEST_MEMO
      ? wanted.slice(0, LONGEST_MEMO).replace(/\s\S*$|\p{Surrogate}$/u, '')
      : wanted
  // The service refuses texts without words, such as `???`.
  if (wordsOf(text).length === 0) return []
  const { data } = await geoOnce.records.page({ memo: text, limit: MOST, signal })
  const words = plainOf(text).split(' ').filter(Boolean)
  if (data.length > 0 || words.length === 0 || words.join('').length < 4) return data.map(placeHit)
  const stems = words.map((word) => [...word].slice(0, STEM).join('')).join(' ')
  const candidates = await geoOnce.records.page({ memo: stems, limit: CANDIDATES, signal })
  return candidates.data
    .map((record) => ({ record, score: similarity(record.memo, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, MOST)
    .map(({ record }) => placeHit(record))
}

function placeHit(
  record: Pick<LocationRecord, 'chain' | 'uid' | 'memo' | 'location_type' | 'revoked' | 'timestamp'>,
): Hit {
  const { chain, uid, memo, location_type: type, revoked, timestamp } = record
  return {
    ...{ key: keyText(record), kind: 'place', record: { chain, uid } },
    title: lineText(memo) || lineText(type),
    detail: say.search.place(chainName(chain), dayText(Date.parse(timestamp)), revoked),
    features: () => featuresOf({ chain, uid }),
  }
}

const GEOMETRY = `query Geometry($chain: String!, $uid: String!) {
  locationRecordByChainAndUid(chain: $chain, uid: $uid) { geometry }
}`
async function featuresOf(record: RecordKey): Promise<Feature[]> {
  const { locationRecordByChainAndUid: found } = await geoOnce.graphql<{
    locationRecordByChainAndUid: { geometry: Geometry | null } | null
  }>(GEOMETRY, { ...record })
  return found?.geometry ? [featureOf(found.geometry)] : []
}

type Attested = Pick<LocationRecord, 'chain' | 'uid' | 'memo' | 'revoked' | 'timestamp'> & {
  locationType: string
}
const HASH = `query Hash($hash: String!) {
  locationRecords(first: 6, filter: { uid: { equalTo: $hash } }) { nodes { ...attested } }
  attestationEvents(first: 10, filter: { transactionHash: { equalTo: $hash } }) {
    nodes { locationRecord { ...attested } }
  }
}
fragment attested on LocationRecord { chain uid memo locationType revoked timestamp }`
/** Finds the records with this UID, or those that the transaction with this hash attested. */
async function byHash(hash: string, signal: AbortSignal): Promise<Hit[]> {
  const { locationRecords, attestationEvents } = await geoOnce.graphql<{
    locationRecords: { nodes: Attested[] }
    attestationEvents: { nodes: { locationRecord: Attested | null }[] }
  }>(HASH, { hash }, { signal })
  const attested = attestationEvents.nodes.flatMap(({ locationRecord }) => locationRecord ?? [])
  return [...locationRecords.nodes, ...attested].map((found) =>
    placeHit({ ...found, location_type: found.locationType }),
  )
}

async function byAddress(address: string, signal: AbortSignal): Promise<Hit[]> {
  const { data, total = 0 } = await geoOnce.records.page({ prover: address, limit: 100, total: true, signal })
  if (data.length === 0) return []
  const points = data.flatMap(({ longitude, latitude }) =>
    longitude === null || latitude === null ? [] : [pointOf(longitude, latitude)],
  )
  return [
    {
      ...{ key: address, kind: 'attester', attester: address, title: address },
      detail: say.search.attester(total),
      features: async () => points,
    },
  ]
}

const pointOf = (longitude: number, latitude: number) =>
  featureOf({ type: 'Point', coordinates: [longitude, latitude] })
