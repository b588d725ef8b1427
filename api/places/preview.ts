import { renderAsync } from '@resvg/resvg-js'
import { drawMap, type Geometry } from '../pages'
import type { Bbox } from '../store'

/** Size of a preview image in pixels, which link previews expect (https://ogp.me). */
export const PREVIEW_SIZE = { width: 1200, height: 630 }
/** Size in pixels of the world map in a corner of the image. */
const LOCATOR = { width: 300, height: 150, margin: 24 }
const WORLD: Bbox = [-180, -90, 180, 90]
/** Radius of points on the large map and in the corner, in pixels of a map that is 960 pixels wide. */
const POINT = { large: 13, small: 22 }
/** Maximum number of positions drawn: crossing edges between them take up to 0.2 s of a core to render. */
const MOST_POSITIONS = 2_000
/** Degrees that the large map shows around a point: enough to include a coast for orientation. */
const AROUND = { longitude: 9, latitude: 5 }
/** Latitude in degrees beyond which the large map ends at the pole, so that its middle is not the place. */
const POLAR = 90 - AROUND.latitude
const STYLE = `
.land { fill: #f6f4ee; fill-rule: evenodd } .grid path { stroke: #0002; stroke-width: 1; fill: none } .box { display: none }
.point { fill: #d1495b; stroke: #fff; stroke-width: 3 } .line { fill: none; stroke: #2a7de1; stroke-width: 4 }
.area { fill: #2a9d6f; fill-opacity: .35; fill-rule: evenodd; stroke: #2a9d6f; stroke-width: 3 }
.locator .grid { display: none } .revoked { opacity: .45 }`

/**
 * Draws the map of a place as PNG: the place, and where in the world it is. It has no text, and needs no
 * fonts: link previews show the title next to it. Rendering runs outside the main thread. A geometry that is
 * missing or too large for a map shows only the world.
 */
export async function previewOf(geometry: Geometry | null, revoked: boolean): Promise<Buffer> {
  const { width, height } = PREVIEW_SIZE
  const first = geometry && firstPosition(geometry)
  const world = drawMap(first ? [placeOf({ type: 'Point', coordinates: first })] : [], WORLD, {
    pointRadius: POINT.small,
  }).svg
  const box = geometry?.type === 'Point' && first ? boxAround(first) : undefined
  const { svg } = geometry
    ? drawMap([placeOf(geometry)], box, { pointRadius: POINT.large, most: MOST_POSITIONS })
    : { svg: '' }
  const locator = framed(world, {
    ...{ x: width - LOCATOR.width - LOCATOR.margin, y: height - LOCATOR.height - LOCATOR.margin },
    ...{ width: LOCATOR.width, height: LOCATOR.height },
  })
  const image = await renderAsync(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><style>${STYLE}</style>` +
      `<g${revoked ? ' class="revoked"' : ''}>${framed(svg || world, { x: 0, y: 0, width, height }, first)}</g>` +
      `${svg && `<g class="locator">${locator}</g>`}</svg>`,
    { font: { loadSystemFonts: false }, background: '#ffffff' },
  )
  return image.asPng()
}

const placeOf = (geometry: Geometry) => ({ title: '', href: '', geometry })

function boxAround([lng, lat]: [number, number]): Bbox {
  const wrapped = (degrees: number) => degrees - 360 * Math.round(degrees / 360)
  const south = Math.max(-90, Math.min(90 - 2 * AROUND.latitude, lat - AROUND.latitude))
  return [
    ...[wrapped(lng - AROUND.longitude), south],
    ...[wrapped(lng + AROUND.longitude), south + 2 * AROUND.latitude],
  ] as unknown as Bbox
}

/** First position of a geometry; undefined if it is empty. */
function firstPosition({ coordinates, geometries }: Geometry): [number, number] | undefined {
  let first: unknown = coordinates
  while (Array.isArray(first) && Array.isArray(first[0])) first = first[0]
  if (Array.isArray(first) && first.length > 1) return first as [number, number]
  return geometries?.map(firstPosition).find((each) => each !== undefined)
}

/** Map that fills a frame, which cuts it at both edges. If `first` is near a pole, that edge is whole. */
function framed(
  map: string,
  { x, y, width, height }: Record<'x' | 'y' | 'width' | 'height', number>,
  first?: [number, number] | null,
) {
  const [, latitude = 0] = first ?? []
  const edge = latitude > POLAR ? 'YMin' : latitude < -POLAR ? 'YMax' : 'YMid'
  const background = `<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="#cfe3ee" stroke="#0004"/>`
  return `${background}${map.replace(
    '<svg class="map"',
    `<svg x="${x}" y="${y}" width="${width}" height="${height}" preserveAspectRatio="xMid${edge} slice"`,
  )}`
}
