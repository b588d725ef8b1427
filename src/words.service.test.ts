import { expect } from 'vitest'
import { connect, createMigratedDatabase } from '../test/database'
import { hunt } from '../test/seed'
import { wordsOf } from './words'
import { withPostgres } from '../test/needs'

/** Blocks in which Unicode 15 to 17 added letters and marks, which Postgres 15 does not know. */
const NEWER =
  /[\u019b\u0264\u1acf-\u1aff\u1c89\u1c8a\ua7cb-\ua7dc\ua7f1\u{105c0}-\u{105ff}\u{10d40}-\u{10d8f}\u{11380}-\u{113ff}\u{16100}-\u{1613f}\u{16d40}-\u{16d7f}\u{16ea0}-\u{16edf}\u{1ccd6}-\u{1ccf9}\u{1e030}-\u{1e08f}\u{1e4d0}-\u{1e4ff}]/gu

/** Returns a function that finds texts whose words differ between the database and the code. */
async function comparison() {
  const client = await connect((await createMigratedDatabase()).url)
  return async (texts: readonly string[]) => {
    const { rows } = await client.query<{ words: string[] }>(
      'SELECT words_of(text) AS words FROM unnest($1::text[]) WITH ORDINALITY AS given (text, n) ORDER BY n',
      [texts],
    )
    return texts
      .map((text, i) => ({ text, words: rows[i]!.words, expected: wordsOf(text) }))
      .filter(({ words, expected }) => JSON.stringify(words) !== JSON.stringify(expected))
  }
}

// The case of rare letters depends on the database's C library. That of the embedded database is older.
withPostgres.test(
  'Postgres finds the words of the code for each character, alone and next to a letter with a mark',
  { tags: ['slow'] },
  async () => {
    const differences = await comparison()
    for (let from = 1; from < 0x110000; from += 0x4000) {
      const texts = Array.from({ length: 0x4000 }, (_, i) =>
        String.fromCodePoint(Math.min(from + i, 0x10ffff)),
      )
        .filter((character) => !/[\p{Cn}\p{Co}\p{Cs}\p{Unified_Ideograph}]/u.test(character))
        .map((character) => character.replace(NEWER, ''))
        .map((character) => `${character} ${character}\u0301e${character}`)
      expect(await differences(texts)).toEqual([])
    }
  },
)

/** Blocks with letters, marks, widths and syllables. */
const BLOCKS =
  '20-7e a0-2ff 300-36f 370-52f 590-6ff 900-97f e00-e7f 1100-11ff 1ab0-1aff 1d00-1fff 2000-20ff 2c60-2c7f ' +
  '3000-30ff a640-a69f ac00-d7a3 fb00-fb4f fe20-fe2f ff00-ffef 1d400-1d7ff'
hunt(
  'the database finds the words of the code for texts of all scripts',
  20_000,
  async ({ cases, random }) => {
    const differences = await comparison()
    const pick = <T>(list: ArrayLike<T>) => list[Math.floor(random() * list.length)]!
    const blocks = BLOCKS.split(' ').map((block) => block.split('-').map((end) => parseInt(end, 16)))
    const character = () => {
      const [first = 0, last = 0] = pick(blocks)
      return String.fromCodePoint(first + Math.floor(random() * (last - first + 1)))
    }
    const text = () =>
      Array.from({ length: 1 + Math.floor(random() * 12) }, () =>
        random() < 0.3 ? pick('aAsS oOØßΣσ.') : character().replace(NEWER, ''),
      ).join('')
    for (let done = 0; done < cases; done += 1_000)
      expect(await differences(Array.from({ length: Math.min(1_000, cases - done) }, text))).toEqual([])
  },
)
