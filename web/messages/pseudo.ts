import { en, type Messages } from './en'
import { KINDS } from './reasons'

const ACCENTED = Object.fromEntries(
  [...'aeiounycAEIOUNYC'].map((letter, i) => [letter, [...'àéîöûñýçÀÉÎÖÛÑÝÇ'][i]!]),
)

function transformed(message: unknown): unknown {
  if (typeof message === 'string') return accented(message)
  if (typeof message === 'function')
    return (...values: unknown[]) => accented((message as (...values: unknown[]) => string)(...values))
  if (Array.isArray(message)) return message.map(transformed)
  return Object.fromEntries(
    Object.entries(message as object).map(([name, value]) => [name, transformed(value)]),
  )
}

const accented = (text: string) =>
  text && `[${[...text].map((letter) => ACCENTED[letter] ?? letter).join('')}${'~'.repeat(text.length / 3)}]`

/**
 * Pseudo-language for tests and translators: English with accents, in brackets and a third longer. Text that
 * is not a message, or that has no room to grow, is thus visible on the pages.
 */
export const pseudo: Messages = {
  ...(transformed(en) as Messages),
  reasons: Object.fromEntries(
    KINDS.map((kind) => [kind, (_: unknown, sentence: string) => accented(sentence)]),
  ),
}
