import { folded } from '../../src/words'

/** Converts a text to lower case without accents, with single spaces between words. */
export const plainOf = (text: string): string => folded(text).replace(/[^\p{L}\p{N}\p{M}]+/gu, ' ')

/**
 * Edit distance of two texts: the number of letters to insert, remove, replace or swap with their neighbour
 * (optimal string alignment). A result above `most` only means that the distance is above `most`.
 */
export function distanceOf(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1
  let [before, row]: number[][] = [[], Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row![j]! + 1, next[j - 1]! + 1, row![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        next[j] = Math.min(next[j]!, before![j - 2]! + 1)
    }
    if (Math.min(...next) > most) return most + 1
    ;[before, row] = [row!, next]
  }
  return row!.at(-1)!
}

/**
 * Similarity of a text to the words of a search, from 0 to 1: the share of the words' letters that match, if
 * each word matches the beginning of a word of the text with at most one error per four letters; otherwise 0.
 */
export function similarity(text: string, words: readonly string[]): number {
  const inText = plainOf(text).split(' ')
  let errors = 0
  for (const word of words) {
    const most = Math.floor(word.length / 4)
    let least = most + 1
    for (const each of inText)
      for (let length = word.length - most; length <= word.length + most; length++)
        least = Math.min(least, distanceOf(each.slice(0, length), word, most))
    if (least > most) return 0
    errors += least
  }
  return 1 - errors / words.join('').length
}
