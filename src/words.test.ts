import { expect, test } from 'vitest'
import { folded, lineOf, wordsOf } from './words'

test.each([
  ['Sao Paulo', 'São Paulo'],
  ['ZURICH', 'Zürich'],
  ['Krakow', 'Kraków'],
  ['Malmo', 'Malmo\u0308'],
  ['strasse', 'Straße'],
  ['STRASSE', 'STRAẞE'],
  ['Lodz', 'Łódź'],
  ['Tromso', 'Tromsø'],
  ['AErø', 'Ærø'],
  ['da nang', 'Đà Nẵng'],
  ['Istanbul', 'İstanbul'],
  ['Diyarbakir', 'DİYARBAKIR'],
  ['diyarbakir', 'Diyarbakır'],
  ['Þingvellir', 'Thingvellir'],
  ['Αθηνα', 'ΑΘΉΝΑ'],
  ['Σίσυφος', 'σισυφοσ'],
  ['Орел', 'Орёл'],
  ['Киiв', 'Киiв'],
  ['ABC 123', 'ＡＢＣ　１２３'],
  ['m2', 'm²'],
  ['fiord', 'ﬁord'],
  ['ガ', 'ｶﾞ'],
  ['한국', '한국'.normalize('NFD')],
])('a search for %s finds %s', (search, memo) => {
  expect(wordsOf(search)).toEqual(wordsOf(memo))
})

test.each([
  ['が', 'か'],
  ['ぱ', 'は'],
  ['कि', 'क'],
  ['กำ', 'กา'],
  ['לֹ', 'ל'],
  ['بً', 'ب'],
  ['한', '하'],
  ['ഷി', 'ഷ'],
])('the marks of %s distinguish it from %s', (one, other) => {
  expect(folded(one)).not.toBe(folded(other))
  expect(folded(one)).toBe(one.normalize('NFKD').normalize('NFC'))
})

test('a text of punctuation, in any width, has no words', () => {
  expect(['', ' ', '--', '…', '；', '　', '\u00a0!', '\x7f'].flatMap(wordsOf)).toEqual([])
  expect(wordsOf('¿Dónde? (aquí)')).toEqual(['¿donde', 'aqui'])
})

test.each([
  ['Tower\u202eed ton si\u202c', 'Towered ton si'],
  [' a\n\t b\u0000 ', 'a b'],
  ['\u200b\u2060\u3164', ''],
])('%j on one line is %j', (text, line) => expect(lineOf(text)).toBe(line))
