import { en, type Messages } from './en'
import { pseudo } from './pseudo'
import { reasonIn } from './reasons'

/**
 * Messages of the pages in the language of the address (`?lang=`), otherwise in the first supported language
 * of the browser. To add a language, add a folder like en/ and a row here: the type checks that its messages
 * have the same names and parameters. Numbers and times are formatted for `locale`. Styles use logical
 * properties (start, end), so that a language may be written from right to left.
 */
const LANGUAGES: Readonly<Record<string, { messages: Messages; locale: string; direction: 'ltr' | 'rtl' }>> =
  {
    en: { messages: en, locale: 'en-GB', direction: 'ltr' },
    // Pseudo-locales, by the names that Chromium and Android use.
    'en-xa': { messages: pseudo, locale: 'en-GB', direction: 'ltr' },
    'ar-xb': { messages: pseudo, locale: 'en-GB', direction: 'rtl' },
  }

const named = new URLSearchParams(location.search).get('lang')
const preferred = [...(named === null ? [] : [named]), ...navigator.languages].flatMap((tag) => [
  tag.toLowerCase(),
  tag.split('-')[0]!.toLowerCase(),
])
const language = preferred.find((tag) => Object.hasOwn(LANGUAGES, tag)) ?? 'en'
const chosen = LANGUAGES[language]!
document.documentElement.lang = language
document.documentElement.dir = chosen.direction

/** Messages in the language of this page. */
export const say = chosen.messages
/** Locale of numbers and times. */
export const { locale } = chosen

/** Reason of an error in the language of this page. `sentence` is the shown part of the error's message. */
export const reasonOf = (error: unknown, sentence?: string): string => reasonIn(say.reasons, error, sentence)
