import { gzipSync } from 'node:zlib'

/** Bytes of the header, and of header and root directory, which readers request first. */
const [HEADER, FIRST] = [127, 16_384]
const GZIP = 2
const VECTOR_TILES = 1

/**
 * Writes a PMTiles archive (version 3, https://github.com/protomaps/PMTiles) with one directory.
 * @param tiles uncompressed vector tiles
 * @param metadata JSON object; `bounds` are west, south, east and north in degrees
 * @throws Error if the directory does not fit in the root
 */
export function pmtilesOf(tiles, { bounds, ...metadata }) {
  const contents = []
  const offsets = new Map()
  let size = 0
  const entries = tiles
    .map(({ z, x, y, data }) => ({ id: tileId(z, x, y), data }))
    .sort((a, b) => a.id - b.id)
    .map(({ id, data }) => {
      const bytes = gzipSync(data, { level: 9 })
      const key = bytes.toString('base64')
      if (!offsets.has(key)) {
        offsets.set(key, size)
        contents.push(bytes)
        size += bytes.length
      }
      return { id, offset: offsets.get(key), length: bytes.length }
    })
  const directory = gzipSync(directoryOf(entries), { level: 9 })
  if (HEADER + directory.length > FIRST) throw new Error(`${directory.length} bytes do not fit in the root`)
  const json = gzipSync(JSON.stringify(metadata))
  const zooms = tiles.map(({ z }) => z)
  const header = headerOf(bounds, [Math.min(...zooms), Math.max(...zooms)], {
    root: directory.length,
    metadata: json.length,
    tiles: size,
    counts: [tiles.length, entries.length, contents.length],
  })
  return Buffer.concat([header, directory, json, ...contents])
}

/** Position of a tile on the Hilbert curve of its zoom, after the tiles of smaller zooms. */
export function tileId(z, x, y) {
  let id = (4 ** z - 1) / 3
  let [column, row] = [x, y]
  for (let side = 2 ** (z - 1); side >= 1; side /= 2) {
    const [right, down] = [column & side ? 1 : 0, row & side ? 1 : 0]
    id += side * side * ((3 * right) ^ down)
    if (down === 0) {
      if (right === 1) [column, row] = [side - 1 - (column & (side - 1)), side - 1 - (row & (side - 1))]
      ;[column, row] = [row, column]
    }
  }
  return id
}

function directoryOf(entries) {
  const numbers = [entries.length]
  let last = 0
  for (const { id } of entries) {
    numbers.push(id - last)
    last = id
  }
  for (const _ of entries) numbers.push(1)
  for (const { length } of entries) numbers.push(length)
  for (const [i, { offset }] of entries.entries()) {
    const before = entries[i - 1]
    numbers.push(before && offset === before.offset + before.length ? 0 : offset + 1)
  }
  return Buffer.from(numbers.flatMap(varint))
}

function varint(value) {
  const bytes = []
  let rest = value
  while (rest >= 128) {
    bytes.push((rest % 128) + 128)
    rest = Math.floor(rest / 128)
  }
  return [...bytes, rest]
}

function headerOf([west, south, east, north], [minZoom, maxZoom], { root, metadata, tiles, counts }) {
  const header = Buffer.alloc(HEADER)
  header.write('PMTiles')
  header[7] = 3
  const metadataAt = HEADER + root
  const tilesAt = metadataAt + metadata
  // Offset and length of root, metadata, leaves and tiles, then the numbers of tiles.
  const numbers = [HEADER, root, metadataAt, metadata, tilesAt, 0, tilesAt, tiles, ...counts]
  for (const [i, number] of numbers.entries()) header.writeBigUInt64LE(BigInt(number), 8 + 8 * i)
  header.set([0, GZIP, GZIP, VECTOR_TILES, minZoom, maxZoom], 96)
  for (const [i, degrees] of [west, south, east, north].entries())
    header.writeInt32LE(Math.round(degrees * 1e7), 102 + 4 * i)
  header[118] = minZoom
  header.writeInt32LE(Math.round(((west + east) / 2) * 1e7), 119)
  header.writeInt32LE(Math.round(((south + north) / 2) * 1e7), 123)
  return header
}
