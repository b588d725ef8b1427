import type { ExpressionSpecification, FilterSpecification } from 'maplibre-gl'
import { chainColour, KINDS, OTHER_KIND, SLUGS } from '../chains'

export interface RecordsLook {
  by: 'chain' | 'type'
  /** slugs of chains, or names of kinds, that are hidden */
  hidden: readonly string[]
}
export interface RecordKey {
  chain: string
  uid: string
}
/** Text that identifies a record. Records on several chains can have the same UID. */
export const keyText = ({ chain, uid }: RecordKey): string => `${chain}-${uid}`

/** Current content of the map. */
export interface Shown {
  /** number of places, including those that clusters count */
  places: number
  /** undefined if clusters count places of hidden chains, whose number of revoked ones is unknown */
  revoked: number | undefined
}
type Properties = Readonly<Record<string, unknown>>

/** A layer in plain types: with those of MapLibre, the linter compares thousands of kinds of expressions. */
export interface RecordLayer {
  id: string
  type: 'fill' | 'line' | 'circle' | 'symbol' | 'heatmap'
  source: string
  'source-layer': string
  filter: FilterSpecification
  maxzoom?: number
  layout?: Readonly<Record<string, unknown>>
  paint: Readonly<Record<string, unknown>>
}

export const SOURCE = 'records'
const COUNTED_COLOUR = '#41505f'
const OPACITY = { plain: 0.9, faded: 0.3 }

/** Group of a record: its chain, or the kind of its location type. */
function groupOf({ by }: RecordsLook): ExpressionSpecification {
  if (by === 'chain') return ['get', 'chain']
  const type: ExpressionSpecification = ['downcase', ['get', 'location_type']]
  return [
    'case',
    ...KINDS.flatMap(({ name, prefix }) => [['==', ['slice', type, 0, prefix.length], prefix], name]),
    OTHER_KIND.name,
  ] as unknown as ExpressionSpecification
}

function colourOf(look: RecordsLook): ExpressionSpecification {
  const colours =
    look.by === 'chain'
      ? SLUGS.map((slug) => [slug, chainColour(slug)])
      : KINDS.map(({ name, colour }) => [name, colour])
  return ['match', groupOf(look), ...colours.flat(), OTHER_KIND.colour] as unknown as ExpressionSpecification
}

/** Number of the shown records of a cluster, without those of hidden chains. */
function countOf({ by, hidden }: RecordsLook): ExpressionSpecification {
  if (by === 'type' || hidden.length === 0) return ['get', 'point_count']
  const left = ['+', 0, ...hidden.map((slug) => ['coalesce', ['get', slug], 0])]
  return ['-', ['get', 'point_count'], left] as unknown as ExpressionSpecification
}
/** The result of `countOf` for a cluster with these properties. */
export function shownCount(cluster: Properties, { by, hidden }: RecordsLook): number {
  const left = by === 'type' ? [] : hidden
  return left.reduce(
    (count, slug) => count - ((cluster[slug] as number | undefined) ?? 0),
    cluster.point_count as number,
  )
}

export const countText = (look: RecordsLook): ExpressionSpecification =>
  [
    ...['step', countOf(look), ['to-string', countOf(look)]],
    ...[1_000, ['concat', ['to-string', ['floor', ['/', countOf(look), 1_000]]], 'k']],
    ...[1_000_000, ['concat', ['to-string', ['floor', ['/', countOf(look), 1_000_000]]], 'M']],
  ] as unknown as ExpressionSpecification

/** Colour of a cluster: that of its chain if all shown records are on one chain. */
function clusterColour(look: RecordsLook): ExpressionSpecification | string {
  const shown = SLUGS.filter((slug) => !look.hidden.includes(slug))
  if (look.by === 'type' || shown.length === 0) return COUNTED_COLOUR
  return [
    'case',
    ...shown.flatMap((slug) => [['==', ['coalesce', ['get', slug], 0], countOf(look)], chainColour(slug)]),
    COUNTED_COLOUR,
  ] as unknown as ExpressionSpecification
}

/**
 * Name of the feature state that fades a record on this chain. Records on several chains can have the same
 * UID, which is the feature's id.
 */
export const fadedOn = (chain: string): string => `faded ${chain}`
/** Degree of fading: 1 for a revoked record, between 0 and 1 during the transition, otherwise 0. */
const FADED: ExpressionSpecification = [
  'coalesce',
  ['feature-state', ['concat', fadedOn(''), ['get', 'chain']]],
  ['case', ['==', ['get', 'revoked'], true], 1, 0],
]
/** 0 for an area that is only outlined, because its fill would hide the points in it; otherwise 1. */
const FILLED: ExpressionSpecification = ['case', ['boolean', ['feature-state', 'outlined'], false], 0, 1]
/** Zoom below which the density of records is drawn as a heat map. */
const HEAT_ENDS = 4
const opacity = (plain: number, faded: number): ExpressionSpecification => [
  '-',
  plain,
  ['*', plain - faded, FADED],
]
const whenSelected = (yes: number, no: number): ExpressionSpecification => [
  'case',
  ['boolean', ['feature-state', 'selected'], false],
  yes,
  no,
]

function heatLayer(look: RecordsLook): RecordLayer {
  return {
    id: 'records-heat',
    type: 'heatmap',
    source: SOURCE,
    'source-layer': 'clusters',
    filter: ['>', countOf(look), 0] as unknown as FilterSpecification,
    maxzoom: HEAT_ENDS,
    paint: {
      'heatmap-weight': ['interpolate', ['linear'], ['log10', countOf(look)], 0, 0.1, 5, 1],
      'heatmap-radius': ['interpolate', ['linear'], ['zoom'], 0, 18, HEAT_ENDS, 48],
      'heatmap-opacity': ['interpolate', ['linear'], ['zoom'], HEAT_ENDS - 1.5, 0.6, HEAT_ENDS, 0],
      'heatmap-color': [
        ...['interpolate', ['linear'], ['heatmap-density']],
        ...[0, 'rgba(47,111,222,0)', 0.2, '#7ab8ff', 0.5, '#f2c14e', 0.8, '#e8590c', 1, '#b3261e'],
      ],
    },
  }
}

export function recordLayers(look: RecordsLook): RecordLayer[] {
  const isShown = ['!', ['in', groupOf(look), ['literal', look.hidden]]]
  const filter = (type: string, ...more: ExpressionSpecification[]) =>
    ['all', ['==', ['geometry-type'], type], isShown, ...more] as unknown as FilterSpecification
  const counted = ['>', countOf(look), 0] as unknown as FilterSpecification
  const colour = colourOf(look)
  const records = { source: SOURCE, 'source-layer': 'records' }
  const clusters = { source: SOURCE, 'source-layer': 'clusters' }
  const line = {
    'line-color': colour,
    'line-width': whenSelected(4, 2),
    'line-opacity': opacity(OPACITY.plain, OPACITY.faded),
  }
  return [
    {
      id: 'records-areas',
      type: 'fill',
      ...records,
      filter: filter('Polygon'),
      // Smooth edges would draw the end of the map on a globe. The borders are layers of their own.
      paint: {
        'fill-color': colour,
        'fill-opacity': ['*', opacity(0.28, 0.08), FILLED],
        'fill-antialias': false,
      },
    },
    {
      id: 'records-area-edges',
      type: 'line',
      ...records,
      // The borders of an area that continues beyond the end of the map are lines.
      filter: filter('Polygon', ['!', ['has', 'open']]),
      paint: line,
    },
    { id: 'records-lines', type: 'line', ...records, filter: filter('LineString'), paint: line },
    {
      id: 'records-points',
      type: 'circle',
      ...records,
      filter: filter('Point'),
      paint: {
        'circle-color': colour,
        'circle-radius': whenSelected(8, 5.5),
        'circle-opacity': opacity(OPACITY.plain, OPACITY.faded),
        'circle-stroke-color': '#ffffff',
        'circle-stroke-width': 1.5,
        'circle-stroke-opacity': opacity(OPACITY.plain, OPACITY.faded),
      },
    },
    heatLayer(look),
    {
      id: 'records-clusters',
      type: 'circle',
      ...clusters,
      filter: counted,
      paint: {
        'circle-color': clusterColour(look),
        'circle-radius': ['interpolate', ['linear'], ['log10', countOf(look)], 0, 8, 2, 14, 5, 26],
        'circle-opacity': ['case', ['==', ['get', 'revoked_count'], ['get', 'point_count']], 0.35, 0.85],
        'circle-stroke-color': '#ffffff',
        'circle-stroke-width': 1,
      },
    },
    {
      id: 'records-counts',
      type: 'symbol',
      ...clusters,
      filter: counted,
      layout: {
        'text-field': countText(look),
        'text-font': ['system-ui', 'sans-serif'],
        'text-size': 11,
        'text-allow-overlap': true,
      },
      paint: { 'text-color': '#ffffff' },
    },
  ]
}

/** Counts the places of features on the map. A feature that is in several tiles counts once. */
export function shownIn(features: readonly { properties: Properties }[], look: RecordsLook): Shown {
  const seen = new Set<unknown>()
  let [places, revoked, isPartial] = [0, 0, false]
  for (const { properties } of features) {
    const { uid, point_count: total, revoked_count: revokedCount } = properties
    const key = uid === undefined ? properties : keyText(properties as unknown as RecordKey)
    if (seen.has(key)) continue
    seen.add(key)
    const count = uid === undefined ? shownCount(properties, look) : 1
    places += count
    revoked += uid === undefined ? (revokedCount as number) : properties.revoked ? 1 : 0
    isPartial ||= uid === undefined && count !== total
  }
  return { places, revoked: isPartial ? undefined : revoked }
}
