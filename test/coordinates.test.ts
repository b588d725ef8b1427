import path from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { hunt } from './seed'
import { positionsIn } from '../web/search/coordinates'
import { positions } from './positions'

/** Writers of a position in each notation, and the degrees to which it is exact. */
const pad = (value: number, digits: number, decimals = 0) =>
  value.toFixed(decimals).padStart(digits + (decimals > 0 ? decimals + 1 : 0), '0')
const letters = (latitude: number, longitude: number) =>
  [latitude < 0 ? 'S' : 'N', longitude < 0 ? 'W' : 'E'] as const
/** Degrees, minutes and seconds of a size, whose seconds have these decimals and are below 60. */
function dms(value: number, decimals: number): [number, number, number] {
  const unit = 10 ** decimals
  const seconds = Math.round(Math.abs(value) * 3_600 * unit)
  return [
    Math.floor(seconds / 3_600 / unit),
    Math.floor(seconds / 60 / unit) % 60,
    (seconds % (60 * unit)) / unit,
  ]
}
type Writer = (latitude: number, longitude: number) => string
const WRITERS: Record<string, { write: Writer; within: number; isCertain: boolean }> = {
  decimal: { write: (a, b) => `${a.toFixed(6)}, ${b.toFixed(6)}`, within: 1e-6, isCertain: false },
  spaces: { write: (a, b) => `${a.toFixed(6)} ${b.toFixed(6)}`, within: 1e-6, isCertain: false },
  commas: {
    write: (a, b) => `${a.toFixed(5)}; ${b.toFixed(5)}`.replaceAll('.', ','),
    ...{ within: 1e-5, isCertain: false },
  },
  'letters after': {
    write: (a, b) => {
      const [n, e] = letters(a, b)
      return `${Math.abs(a).toFixed(5)}° ${n} ${Math.abs(b).toFixed(5)}° ${e}`
    },
    ...{ within: 1e-5, isCertain: true },
  },
  'letters before, longitude first': {
    write: (a, b) => {
      const [n, e] = letters(a, b)
      return `${e.toLowerCase()}${Math.abs(b).toFixed(5)}/${n}${Math.abs(a).toFixed(5)}`
    },
    ...{ within: 1e-5, isCertain: true },
  },
  'degrees, minutes, seconds': {
    write: (a, b) => {
      const [n, e] = letters(a, b)
      const one = (value: number) => {
        const [d, m, s] = dms(value, 2)
        return `${d}°${pad(m, 2)}′${s.toFixed(2)}″`
      }
      return `${one(a)}${n} ${one(b)}${e}`
    },
    ...{ within: 3e-6, isCertain: true },
  },
  'six numbers': {
    write: (a, b) =>
      [a, b]
        .map(
          (value) =>
            `${value < 0 ? '-' : ''}${dms(value, 1)
              .map((each) => each.toFixed(1).replace('.0', ''))
              .join(' ')}`,
        )
        .join(' '),
    ...{ within: 3e-5, isCertain: true },
  },
  'degrees and minutes': {
    write: (a, b) => {
      const [n, e] = letters(a, b)
      const one = (value: number) => {
        const thousandths = Math.round(Math.abs(value) * 60_000)
        return `${Math.floor(thousandths / 60_000)}° ${((thousandths % 60_000) / 1_000).toFixed(3)}'`
      }
      return `${n} ${one(a)}, ${e} ${one(b)}`
    },
    ...{ within: 1e-5, isCertain: true },
  },
  'geo URI': { write: (a, b) => `geo:${a.toFixed(6)},${b.toFixed(6)};u=35`, within: 1e-6, isCertain: true },
  'address of OpenStreetMap': {
    write: (a, b) => `https://www.openstreetmap.org/#map=12/${a.toFixed(5)}/${b.toFixed(5)}`,
    ...{ within: 1e-5, isCertain: true },
  },
  'address of Google Maps': {
    write: (a, b) => `https://www.google.com/maps/place/x/@${a.toFixed(6)},${b.toFixed(6)},15z/data=1`,
    ...{ within: 1e-6, isCertain: true },
  },
  'ISO 6709': {
    write: (a, b) => {
      const [[d, m, s], [x, y, z]] = [dms(a, 1), dms(b, 1)]
      return `${a < 0 ? '-' : '+'}${pad(d, 2)}${pad(m, 2)}${pad(s, 2, 1)}${b < 0 ? '-' : '+'}${pad(x, 3)}${pad(y, 2)}${pad(z, 2, 1)}/`
    },
    ...{ within: 3e-5, isCertain: true },
  },
  'minutes with decimal commas': {
    write: (a, b) => {
      const [n, e] = letters(a, b)
      const one = (value: number) => {
        const thousandths = Math.round(Math.abs(value) * 60_000)
        return `${Math.floor(thousandths / 60_000)}° ${((thousandths % 60_000) / 1_000).toFixed(3).replace('.', ',')}′`
      }
      return `${one(a)} ${n}, ${one(b)} ${e}`
    },
    ...{ within: 1e-5, isCertain: true },
  },
  'seconds with decimal commas': {
    write: (a, b) => {
      const [n, e] = letters(a, b)
      const one = (value: number) => {
        const [d, m, s] = dms(value, 1)
        return `${d}°${m}'${s.toFixed(1).replace('.', ',')}"`
      }
      return `${one(a)}${n}, ${one(b)}${e}`
    },
    ...{ within: 3e-5, isCertain: true },
  },
  'letters d, m and s of PROJ': {
    write: (a, b) => {
      const [n, e] = letters(a, b)
      const one = (value: number) => {
        const [d, m, s] = dms(value, 2)
        return `${d}d${m}m${s.toFixed(2)}s`
      }
      return `${one(a)}${n} ${one(b)}${e}`
    },
    ...{ within: 3e-6, isCertain: true },
  },
  "letter d of PROJ's cs2cs": {
    write: (a, b) => {
      const [n, e] = letters(a, b)
      const one = (value: number) => {
        const [d, m, s] = dms(value, 2)
        return `${d}d${m}'${s.toFixed(2)}"`
      }
      return `${one(b)}${e}\t${one(a)}${n}`
    },
    ...{ within: 3e-6, isCertain: true },
  },
  'digits of aviation': {
    write: (a, b) => {
      const [n, e] = letters(a, b)
      const [[d, m, s], [x, y, z]] = [dms(a, 1), dms(b, 1)]
      return `${pad(d, 2)}${pad(m, 2)}${pad(s, 2, 1)}${n} ${pad(x, 3)}${pad(y, 2)}${pad(z, 2, 1)}${e}`
    },
    ...{ within: 3e-5, isCertain: true },
  },
  parentheses: { write: (a, b) => `(${a.toFixed(6)}, ${b.toFixed(6)})`, within: 1e-6, isCertain: false },
  WKT: { write: (a, b) => `POINT (${b.toFixed(6)} ${a.toFixed(6)})`, within: 1e-6, isCertain: true },
  'GeoJSON point': {
    write: (a, b) =>
      JSON.stringify({ type: 'Point', coordinates: [Number(b.toFixed(6)), Number(a.toFixed(6))] }),
    ...{ within: 1e-6, isCertain: true },
  },
  'JSON object': {
    write: (a, b) => JSON.stringify({ lat: Number(a.toFixed(6)), lng: Number(b.toFixed(6)) }),
    ...{ within: 1e-6, isCertain: true },
  },
  parameters: {
    write: (a, b) => `lat=${a.toFixed(6)}&lon=${b.toFixed(6)}`,
    ...{ within: 1e-6, isCertain: true },
  },
  'geo URI of Android': {
    write: (a, b) => `geo:0,0?q=${a.toFixed(6)},${b.toFixed(6)}(Name)`,
    ...{ within: 1e-6, isCertain: true },
  },
  'ISO 6709 without its end': {
    write: (a, b) =>
      `${a < 0 ? '-' : '+'}${pad(Math.abs(a), 2, 6)}${b < 0 ? '-' : '+'}${pad(Math.abs(b), 3, 6)}`,
    ...{ within: 1e-6, isCertain: true },
  },
  'shortened words': {
    write: (a, b) => `Lat. ${a.toFixed(5)} Long. ${b.toFixed(5)}`,
    ...{ within: 1e-5, isCertain: true },
  },
  words: {
    write: (a, b) => `Latitude: ${a.toFixed(5)}, longitude: ${b.toFixed(5)}`,
    ...{ within: 1e-5, isCertain: true },
  },
}

describe('the parser of coordinates', () => {
  test('adds no digits to an angle in degrees, minutes and seconds', () => {
    const [found] = positionsIn(`48°51'30.24"N 2°17'40.2"E`)
    expect(found).toEqual({ latitude: 48.8584, longitude: 2.2945 })
  })
  hunt('reads positions in every notation', 2_000, ({ random, cases }) => {
    for (let i = 0; i < cases; i++) {
      const [latitude, longitude] = [random() * 180 - 90, random() * 360 - 180]
      for (const [name, { write, within, isCertain }] of Object.entries(WRITERS)) {
        const text = write(latitude, longitude)
        const [found, other] = positionsIn(text)
        const isRead =
          found !== undefined &&
          Math.abs(found.latitude - latitude) <= within &&
          Math.abs(found.longitude - longitude) <= within &&
          !(isCertain && other)
        // Creating each expectation would take more time than reading the text.
        if (!isRead)
          expect.fail(`${name} of ${latitude}, ${longitude}: ${text} is read as ${JSON.stringify(found)}`)
      }
    }
  })
  test.each([
    ['48.8584, 2.2945', positions('2.2945 48.8584, 48.8584 2.2945')],
    ['[2.2945, 48.8584]', positions('2.2945 48.8584, 48.8584 2.2945')],
    ['151.2, -33.9', [[151.2, -33.9]]],
    ['48,8584 2,2945', positions('2.2945 48.8584, 48.8584 2.2945')],
    ['40:26:46N 79:58:56W', [[-79.98222222222222, 40.44611111111111]]],
    ['8FW4V75V+8Q', [[2.2944375, 48.8583125]]],
    ['https://maps.google.com/?q=48.8584,2.2945', [[2.2945, 48.8584]]],
    ['https://maps.google.com/maps?q=loc:48.8584,2.2945', [[2.2945, 48.8584]]],
    ['https://maps.apple.com/place?coordinate=48.8584,2.2945', [[2.2945, 48.8584]]],
    ['https://www.bing.com/maps?cp=48.8584~2.2945&lvl=16', [[2.2945, 48.8584]]],
    ['SRID=4326;POINT Z(2.2945 48.8584 35)', [[2.2945, 48.8584]]],
    ['POINT(1.5e1 51)', [[15, 51]]],
    ['POINT(10 5.1E1)', [[10, 51]]],
    ['"POINT ZM (10 51 35 1)"', [[10, 51]]],
    ['lat=51.47&lon=-5e-7', [[-5e-7, 51.47]]],
    ['{"lat":51.47,"lng":1.2e-7}', [[1.2e-7, 51.47]]],
    ['{"type":"Point","coordinates":[10,5e-1]}', [[10, 0.5]]],
    [
      '{"type":"Feature","properties":{"type":"Point","coordinates":[5,6],"lat":7,"lon":8},"geometry":{"coordinates":[1,2],"type":"Point"}}',
      [[1, 2]],
    ],
    ['https://www.openstreetmap.org/?mlat=48.8584&mlon=2.2945#map=12/48.85/2.35', [[2.2945, 48.8584]]],
    [
      'https://www.google.com/maps/place/x/@48.85,2.35,15z/data=!4m6!3m5!1s0x0!8m2!3d48.8584!4d2.2945!16s',
      [[2.2945, 48.8584]],
    ],
    ['https://www.google.com/maps/place/48.8584,2.2945/@48.8,2.2,17z', [[2.2945, 48.8584]]],
    ['https://www.google.com/maps/search/48.8584,+-2.2945?entry=tts', [[-2.2945, 48.8584]]],
    ['https://yandex.com/maps/213/moscow/?ll=37.617635%2C55.755814&z=10', [[37.617635, 55.755814]]],
    ['yandex.ru/maps?pt=37.6,55.7,pm2rdm&ll=37,55', [[37.6, 55.7]]],
    [
      'https://yandex.ru/maps/?ll=37%2C55&mode=whatshere&whatshere%5Bpoint%5D=37.6%2C55.7&z=9',
      [[37.6, 55.7]],
    ],
    ['https://yandex.ru/maps/?ll=37.6,55.7&text=55.75,37.61&z=9', [[37.61, 55.75]]],
    ['https://yandex.ru/maps/?text=museum&ll=37.6,55.7#x', [[37.6, 55.7]]],
    ['https://www.google.com/maps/place/48.8584,2.2945#x', [[2.2945, 48.8584]]],
    ['https://maps.google.com/?q=48.8584,2.2945#x', [[2.2945, 48.8584]]],
    ['geo:48.8584,2.2945;crs=wgs84;u=5', [[2.2945, 48.8584]]],
    ["33°51'S E151°12'", [[151.2, -33.85]]],
    ['33.9S E151.2', [[151.2, -33.9]]],
    ['48:51:30, 2:21', [[2.35, 48.858333333]]],
    ['48 51; 2', [[2, 48.85]]],
    ['0 0', [[0, 0]]],
    // Marks of direction, which programs add to what they copy.
    ['\u200e33.9S, 151.2E\u202c', [[151.2, -33.9]]],
  ])('reads %s', (text, expected) => {
    const found = positionsIn(text)
    expect(found).toHaveLength(expected.length)
    for (const [i, [longitude, latitude]] of expected.entries()) {
      expect(found[i]!.longitude).toBeCloseTo(longitude!, 9)
      expect(found[i]!.latitude).toBeCloseTo(latitude!, 9)
    }
  })
  test.each([
    ...['', 'Paris', '48', '48.8584', '1 2 3', '91, 181', "48°61' N 2° E", '48.5 30 N 2 E'],
    ...['-48 S 2 E', 'N 48 N 2'],
    // One decimal comma next to a whole number: neither degrees and minutes, nor certain.
    ...['13,4 52', '2,29 48', '52 13,4'],
    ...[`51'30"N 10'5"W`, `48°30"N 2°17"E`, "51' N, 17' E", '4899N00299E', '485160N0021740E'],
    ...['+4860+00217/', '+485160.5+0021740.0/'],
    ...['48 N 2 N', '1,2,3', '10 Downing Street', '2026-11-27', '0x12', 'E 48 2', '12:34', '1e5, 2'],
    ...['48.8584.1, 2', 'lat=51.4&lon=2.3.4', 'POINT(2 48e)', 'geo:48,2;crs=nad27'],
    ...['SRID=3857;POINT(2 48)', '<http://www.opengis.net/def/crs/EPSG/0/4326> POINT(48 2)'],
    ...['[{"lat":48,"lng":2},{"lat":49,"lng":3}]'],
    ...['https://www.google.com/maps/dir/48.8,2.2/48.9,2.3/@48.85,2.25,13z'],
    ...[
      'https://yandex.com/maps/?ll=37,55&pt=37.6,55.7~38,56',
      'https://yandex.com/maps/?ll=37,55&rtext=~55,37',
      'https://yandex.com/maps/?ll=37,55&rtext=55,37',
    ],
    ...['GEOMETRYCOLLECTION(POINT(2 48), POINT(3 49))', 'POINT(2 48), POINT(3 49)'],
    '{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]}}]}',
    '{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[2,48]}]}',
    '{"type":"Feature","properties":{"lat":7,"lon":8},"geometry":null}',
    '[{"type":"Point","coordinates":[2,48]},{"type":"Point","coordinates":[3,49]}]',
  ])('finds no position in %j', (text) => {
    expect(positionsIn(text)).toEqual([])
  })
})

test('a search for a name finds no towns where workers are forbidden', async () => {
  vi.doMock('virtual:towns', () => ({ default: { a: 'towns-a.txt' } }))
  vi.stubGlobal('location', new URL('http://127.0.0.1/'))
  vi.stubGlobal('Worker', function () {
    throw new DOMException('worker-src', 'SecurityError')
  })
  const { townsNamed } = (await import(path.resolve('web/search/towns.ts'))) as {
    townsNamed: (text: string) => Promise<readonly object[]>
  }
  expect(await townsNamed('Accra')).toEqual([])
  vi.unstubAllGlobals()
})
