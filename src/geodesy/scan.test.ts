import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { hunt } from '../../test/seed'
import { GeometryError, canonicalJson, liftCoordinates, readGeometry, readLifted, type Reading } from '.'

interface Read {
  reading: Reading
  json: string
}

/** Reads with readGeometry; undefined if it rejects the text. */
function readUsual(text: string): Read | undefined {
  try {
    const reading = readGeometry(JSON.parse(text), 'g')
    return { reading, json: canonicalJson(reading) }
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof GeometryError) return undefined
    throw error
  }
}

/** Reads in one pass; undefined if the text is not plain. */
function readInOnePass(text: string): Read | undefined {
  const lifted = liftCoordinates(Buffer.from(text))
  if (!lifted) return undefined
  try {
    const { reading, json } = readLifted(JSON.parse(Buffer.from(lifted.rest).toString()), 'g', lifted)
    return {
      reading,
      json: json()
        .map((part) => Buffer.from(part).toString())
        .join(''),
    }
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof GeometryError) return undefined
    throw error
  }
}

describe('liftCoordinates, for numbers,', () => {
  let random: () => number
  const below = (limit: number) => Math.floor(random() * limit)
  const digits = (count: number) => Array.from({ length: count }, () => below(10)).join('')
  const [double, words] = [new Float64Array(1), new BigUint64Array(1)].map((array, i, both) =>
    i === 0 ? array : new BigUint64Array(both[0]!.buffer),
  ) as [Float64Array, BigUint64Array]
  /** Returns the double that is this many steps away from a value. */
  const near = (value: number, steps: number) => {
    double[0] = value
    words[0] = words[0]! + BigInt(steps)
    return double[0]
  }
  /** Returns all digits of the midpoint between a double below 90 and the next double. */
  const halfway = (value: number) => {
    const [numerator, exponent] = [BigInt(value * 2 ** 60) + BigInt(near(value, 1) * 2 ** 60), 61n]
    const fraction = ((numerator & ((1n << exponent) - 1n)) * 10n ** exponent) >> exponent
    return `${numerator >> exponent}.${fraction.toString().padStart(Number(exponent), '0')}`
  }
  const value = () => random() * 10 ** (2 - below(6)) * 0.8
  const families: Record<string, () => string> = {
    'doubles as they are printed': () => String(value()),
    'fixed, up to 20 decimals': () => value().toFixed(below(21)),
    'up to 18 decimals, any digits': () => `${below(90)}.${digits(1 + below(18))}`,
    '15 to 18 decimals': () => `${below(90)}.${digits(15 + below(4))}`,
    'more digits than are read in one pass': () => `${below(90)}.${digits(19 + below(30))}`,
    'leading zeros': () => `0.${'0'.repeat(below(6))}${digits(9 + below(10))}`,
    'trailing zeros': () => `${below(90)}.${digits(below(17))}${'0'.repeat(1 + below(6))}`,
    nines: () => `${below(89)}.${'9'.repeat(below(17))}${digits(1 + below(3))}`,
    'whole numbers': () => String(below(90)),
    zeros: () => ['0', '0.0', '0.000000000000000000', '0.00000000000000000000000'][below(4)]!,
    'near powers of two': () => near(2 ** (6 - below(25)), below(7) - 3).toFixed(13 + below(8)),
    'doubles near powers of two, as they are printed': () => String(near(2 ** (6 - below(25)), below(7) - 3)),
    'last digits near powers of two': () => {
      const decimals = 9 + below(10)
      const scaled =
        ((BigInt(2 ** (26 - below(20))) * 10n ** BigInt(decimals)) >> 20n) + BigInt(below(201) - 100)
      return `${scaled / 10n ** BigInt(decimals)}.${(scaled % 10n ** BigInt(decimals)).toString().padStart(decimals, '0')}`
    },
    'halfway between two doubles': () => halfway(0.5 + random() * 89),
    'close to halfway': () => halfway(0.5 + random() * 89).slice(0, 17 + below(5)),
    'printed to 17 digits': () => value().toPrecision(17).replace(/e.*/, ''),
    'one step from short decimals': () =>
      String(near(Math.max(0.001, Number(value().toFixed(below(9)))), below(5) - 2)),
  }
  const names = Object.keys(families)

  hunt(
    'reads the same bits and prints the same bytes as readGeometry',
    20_000,
    ({ cases, random: seeded }) => {
      random = seeded
      let lifted = 0
      const counts = Object.fromEntries(names.map((name) => [name, 0]))
      while (lifted < cases) {
        const chosen = Array.from({ length: 300 }, () => names[below(names.length)]!)
        const numbers = chosen.map((name) => (below(2) ? '-' : '') + families[name]!())
        const height = (i: number) =>
          i % 10
            ? ''
            : `,${i % 20 ? numbers[3 * i + 2] : `${below(10 ** (1 + below(6)))}.${digits(9 + below(9))}`}`
        const positions = Array.from(
          { length: 100 },
          (_, i) => `[${numbers[3 * i]},${numbers[3 * i + 1]}${height(i)}]`,
        )
        // Numbers below a millionth are printed with an exponent, so they are not plain.
        const plain = positions.filter((position) =>
          (JSON.parse(position) as number[]).every((number) => number === 0 || Math.abs(number) >= 1e-6),
        )
        const text = `{"type":"MultiPoint","coordinates":[${plain.join(',')}]}`
        const [usual, onePass] = [readUsual(text), readInOnePass(text)]
        if (!usual || !onePass || onePass.json !== usual.json || !sameBits(onePass.reading, usual.reading))
          expect(differences(plain)).toEqual([])
        for (const name of chosen) counts[name]!++
        lifted += 2 * plain.length
      }
      expect(Math.min(...Object.values(counts))).toBeGreaterThan(cases / names.length / 2)
    },
  )
  function sameBits(a: Reading, b: Reading): boolean {
    return ([['lon'], ['lat'], ['altitude']] as ['lon' | 'lat' | 'altitude'][]).every(
      ([name]) => Buffer.compare(Buffer.from(a[name]!.buffer), Buffer.from(b[name]!.buffer)) === 0,
    )
  }
  function differences(positions: string[]): string[] {
    return positions.filter((position) => {
      const text = `{"type":"MultiPoint","coordinates":[${position}]}`
      const usual = readUsual(text)
      return !usual || readInOnePass(text)?.json !== usual.json
    })
  }
})

describe('liftCoordinates, for bodies,', () => {
  const ring = '[[0,0],[1.50,0],[1,1],[0,-0.0]]'
  const geometries = [
    '{"type":"Point","coordinates":[1.5,2]}',
    '{ "coordinates" :\n[ -0.0 , 2.50,\t3 ] , "type": "Point", "bbox": [1,2,3], "name": "Großer \u{1F30D}" }',
    '{"type":"MultiPoint","coordinates":[[1,2],[3,4,100000.5],[5,6]]}',
    '{"type":"LineString","coordinates":[[1,2],[3,4]]}',
    '{"type":"MultiLineString","coordinates":[[[1,2],[3,4]],[[5,6],[7,8],[9,10]]]}',
    `{"type":"Polygon","coordinates":[${ring},${ring}]}`,
    '{"type":"Polygon","coordinates":[[[0,0,1],[1,0],[1,1],[0,0]]]}',
    `{"type":"MultiPolygon","coordinates":[[${ring},${ring}],[${ring}],[${ring},${ring},${ring}]]}`,
  ]
  const texts = [
    ...geometries,
    ...geometries.map(
      (geometry) => `{"type":"Feature","properties":{"coordinates":[1,2]},"geometry":${geometry}}`,
    ),
    `{"features":[{"type":"Feature","geometry":${geometries[4]}}],"type":"FeatureCollection"}`,
    `{"type":"GeometryCollection","geometries":[${geometries.join()},{"type":"GeometryCollection","geometries":[${geometries[1]}]}]}`,
    '{"type":"Point","coordinates":[1,2],"coordinates":[3,4]}',
  ]
  test.each(texts)('reads %s like readGeometry', (text) => {
    const usual = readUsual(text)
    expect(usual).toBeDefined()
    expect(readInOnePass(text)).toEqual(usual)
  })
  test.each(
    [
      [
        ...['[]', '[[]]', '[[1,2],[]]', '[1]', '[1,2,3,4]', '[[[[[1,2]]]]]', '[[1,2],3]'],
        ...['[[1,2],[[3,4]]]', '[[[1,2]],[3,4]]', '5', 'null', '"x"', '{}'],
      ],
      [
        ...['[1e0,2]', '[1,2E1]', '[01,2]', '[1.,2]', '[.5,2]', '[+1,2]', '[-,2]', '[1,2,]', '[1,,2]'],
        ...['[1 2]', '[1,2', '[1,2}', '[0.0000009,1]', '[1,2,1000000]', '[180.1,0]', '[0,-90.1]'],
        ...['[NaN,1]', '[1,"2"]', '[1,null]', '[0,0]5'],
      ],
    ].flat(),
  )('leaves coordinates %s to readGeometry', (coordinates) => {
    expect(readInOnePass(`{"type":"MultiPoint","coordinates":${coordinates}}`)).toBeUndefined()
  })
  test.each([
    ['a key with an escape', '{"type":"Point","coordin\\u0061tes":[0],"x":{"coordinates":[1,2]}}'],
    ['a key in a string', '{"type":"Point","x":"\\"coordinates":[1,2]}'],
    ['a string that is not a key', '{"type":"coordinates","coordinates":[1,2]}'],
    ['no coordinates', '{"type":"Feature","geometry":null}'],
    ['lists of another depth', '{"type":"Point","coordinates":[[1,2]]}'],
    ['a line of one position', '{"type":"LineString","coordinates":[[1,2]]}'],
    ['an open ring', '{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0.1]]]}'],
    ['a short ring', '{"type":"Polygon","coordinates":[[[0,0],[1,0],[0,0]]]}'],
    ['more than 100,000 positions', `{"type":"MultiPoint","coordinates":[${'[0,0],'.repeat(100_000)}[0,0]]}`],
  ])('leaves %s to readGeometry', (_, text) => {
    expect(readInOnePass(text)).toBeUndefined()
  })
  test('reads 100,000 positions, not counting the closing positions of rings', () => {
    const text = `{"type":"Polygon","coordinates":[[${'[0,0],'.repeat(99_996)}[0,0]],${ring}]}`
    expect(readInOnePass(text)?.reading.lon).toHaveLength(100_001)
    expect(isDeepStrictEqual(readInOnePass(text), readUsual(text))).toBe(true)
  })
  hunt('reads a changed body like readGeometry, or leaves it', 3_000, ({ random, cases }) => {
    const below = (limit: number) => Math.floor(random() * limit)
    let [read, left] = [0, 0]
    for (let round = 0; round < cases; round++) {
      let text = texts[below(texts.length)]!
      for (let changes = 1 + below(2); changes > 0; changes--) {
        const at = below(text.length)
        const letter = '[]{},:" -.0123456789e\\\n'[below(23)]!
        text =
          text.slice(0, at) +
          ['', letter, letter + text[at], text[at]! + text[at]][below(4)]! +
          text.slice(at + 1)
      }
      const onePass = readInOnePass(text)
      if (onePass) expect(onePass, text).toEqual(readUsual(text))
      if (onePass) read++
      else left++
    }
    // Makes sure that the test has tried something.
    expect(Math.min(read, left)).toBeGreaterThan(cases / 20)
  })
})
