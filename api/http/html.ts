/** Markup that is ready to send: every text in it was escaped when it was inserted. */
export class Html {
  constructor(private readonly markup: string) {}

  toString(): string {
    return this.markup
  }
}

/** Values that a template may hold: markup, texts and numbers, lists of these, and empty values. */
type Part = Html | string | number | false | undefined | readonly Part[]

/** Builds markup from a template, and escapes its texts for element content and quoted attributes. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((markup, text, i) => markup + markupOf(parts[i - 1]) + text))
}

export function joined(parts: readonly Part[], between: string): Html {
  return new Html(parts.map(markupOf).join(escapeHtml(between)))
}

/** Marks a string of this service as markup. It must not contain text of others. */
export function trusted(markup: string): Html {
  return new Html(markup)
}

function markupOf(part: Part): string {
  if (part instanceof Html) return part.toString()
  if (Array.isArray(part)) return (part as readonly Part[]).map(markupOf).join('')
  return part === undefined || part === false ? '' : escapeHtml(String(part))
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
