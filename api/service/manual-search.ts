import { Lexer, type Token, type Tokens } from 'marked'
import type { ManualPage } from './manual'

/** A part of a page, from one heading to the next. */
interface Section {
  readonly page: ManualPage
  readonly heading: string
  /** Anchor of the heading; empty for the start of the page. */
  readonly anchor: string
  readonly text: string
  /** Title of the page, heading and text in lower case. */
  readonly lower: Readonly<Record<'title' | 'heading' | 'text', string>>
}

/** A section that contains all words of a search. */
export interface Found extends Pick<Section, 'page' | 'heading' | 'anchor'> {
  /** Text around the first hit, in parts that are hits alternating with parts that are not. */
  readonly excerpt: readonly { text: string; hit: boolean }[]
}

const MOST_WORDS = 8
const MOST_FOUND = 50
/** Characters of an excerpt before and after its first hit. */
const BEFORE = 60
const AFTER = 160
/** Weights of a word in a heading and in a page's title; each of up to five hits in the text counts 1. */
const IN_HEADING = 12
const IN_TITLE = 6
const MOST_HITS = 5

/** Returns the anchor of a heading, in GitHub's form. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

/** Creates a function that returns the anchors of a page's headings, in order. Repeated ones get a number. */
export function pageAnchors(): (heading: string) => string {
  const uses = new Map<string, number>()
  return (heading) => {
    const anchor = anchorOf(heading)
    const used = uses.get(anchor) ?? 0
    uses.set(anchor, used + 1)
    return used === 0 ? anchor : `${anchor}-${used}`
  }
}

/** Returns Markdown without its marks. */
export function plainOf(markdown: string): string {
  return markdown.replace(/\[((?:[^[\]]|\[[^[\]]*\])+)\]\([^\s()]+\)/g, '$1').replace(/[`*]/g, '')
}

/**
 * Creates the search for sections that contain all words of a text, each as the beginning of a word in any
 * letter case. Hits in headings rank first. It needs no index: all pages have 400 kB.
 */
export function manualSearch(pages: readonly ManualPage[]): (text: string) => Found[] {
  const sections = pages.flatMap(sectionsOf)
  return (text) => {
    const words = [...new Set(text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [])].slice(0, MOST_WORDS)
    if (words.length === 0) return []
    const stems = words.map((word) => (word.length > 3 ? word.replace(/s$/, '') : word))
    return sections
      .map((section) => ({ section, score: scoreOf(section, stems) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      .slice(0, MOST_FOUND)
      .map(({ section }) => {
        const { page, heading, anchor } = section
        return { page, heading, anchor, excerpt: excerptOf(section, stems) }
      })
  }
}

function sectionsOf(page: ManualPage): Section[] {
  const sections: { heading: string; anchor: string; parts: string[] }[] = [
    { heading: page.title, anchor: '', parts: [] },
  ]
  const anchorFor = pageAnchors()
  for (const token of new Lexer().lex(page.text))
    if (!isHeading(token)) sections.at(-1)!.parts.push(shownText(token))
    else if (token.depth > 1) {
      const heading = plainOf(token.text)
      sections.push({ heading, anchor: anchorFor(heading), parts: [] })
    }
  return sections.map(({ heading, anchor, parts }) => {
    const text = parts
      .join(' ')
      .replace(/\s+|-{3,}/g, ' ')
      .trim()
    const lower = {
      title: page.title.toLowerCase(),
      heading: heading.toLowerCase(),
      text: text.toLowerCase(),
    }
    return { page, heading, anchor, text, lower }
  })
}

/** Returns the text of a token as a reader sees it, without the marks of Markdown. */
function shownText(token: Token): string {
  if (token.type === 'table') {
    const { header, rows } = token as Tokens.Table
    const cells = [header, ...rows].flat()
    return cells.map(({ tokens }) => tokens.map(shownText).join('')).join(' ')
  }
  if (token.type === 'list') return (token as Tokens.List).items.map(shownText).join(' ')
  if (['space', 'hr', 'def', 'html'].includes(token.type)) return ' '
  const { tokens, text = ' ' } = token as { tokens?: readonly Token[]; text?: string }
  const isBlock = token.type === 'blockquote' || token.type === 'list_item'
  return tokens ? tokens.map(shownText).join(isBlock ? ' ' : '') : text
}

const isHeading = (token: Token): token is Tokens.Heading => token.type === 'heading'

/** Returns 0 if a word is missing. */
function scoreOf({ lower: { title, heading, text } }: Section, stems: readonly string[]): number {
  let score = 0
  for (const stem of stems) {
    const ofWord =
      IN_HEADING * hitsIn(heading, stem, 1).length +
      IN_TITLE * hitsIn(title, stem, 1).length +
      hitsIn(text, stem).length
    if (ofWord === 0) return 0
    score += ofWord
  }
  return score
}

/** Returns the first positions at which a word of a text in lower case begins with the stem. */
function hitsIn(lower: string, stem: string, most = MOST_HITS): number[] {
  const hits: number[] = []
  for (let at = lower.indexOf(stem); at >= 0 && hits.length < most; at = lower.indexOf(stem, at + 1))
    if (at === 0 || !/[\p{L}\p{N}]/u.test(lower[at - 1]!)) hits.push(at)
  return hits
}

function excerptOf({ text, lower }: Section, stems: readonly string[]): Found['excerpt'] {
  const [first = 0] = stems.flatMap((stem) => hitsIn(lower.text, stem, 1)).sort((a, b) => a - b)
  const start = first <= BEFORE ? 0 : text.indexOf(' ', first - BEFORE) + 1
  const last = first + AFTER < text.length ? text.lastIndexOf(' ', first + AFTER) : text.length
  const cut = text.slice(start, last > first ? last : first + AFTER)
  const shown = `${start > 0 ? '… ' : ''}${cut}${last < text.length ? ' …' : ''}`
  const parts: { text: string; hit: boolean }[] = []
  let end = 0
  const hits = stems.flatMap((stem) =>
    hitsIn(shown.toLowerCase(), stem, AFTER).map((at) => ({ at, length: stem.length })),
  )
  for (const { at, length } of hits.sort((a, b) => a.at - b.at)) {
    if (at < end) continue
    parts.push({ text: shown.slice(end, at), hit: false }, { text: shown.slice(at, at + length), hit: true })
    end = at + length
  }
  return [...parts, { text: shown.slice(end), hit: false }]
}
