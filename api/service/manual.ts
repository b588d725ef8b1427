import { existsSync, readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'
import type { FastifyInstance } from 'fastify'

/** Folders of docs/ that the service shows, with their titles. Their pages link each other. */
export const SECTIONS = { guide: 'Guides', reference: 'Reference', spec: 'Specification' }

/** A page of the documentation, in Markdown. */
export interface ManualPage {
  section: keyof typeof SECTIONS
  /** Path on the service, such as `/manual/guide/client.md`. */
  address: string
  title: string
  text: string
}

/** Reads the pages in a folder of documentation; an empty list if this program was installed without it. */
export function readManual(folder: string): ManualPage[] {
  const pages = (Object.keys(SECTIONS) as (keyof typeof SECTIONS)[]).flatMap((section) => {
    const directory = path.join(folder, section)
    if (!existsSync(directory)) return []
    const names = readdirSync(directory).filter((name) => name.endsWith('.md'))
    return names.sort().map((name) => ({ section, address: `/manual/${section}/${name}`, name }))
  })
  const addresses = new Set(pages.map(({ address }) => address))
  return pages.map(({ section, address, name }) => {
    const source = readFileSync(path.join(folder, section, name), 'utf8')
    const [, title = name] = /^# (.+)$/m.exec(source) ?? []
    return { section, address, title, text: withoutDeadLinks(source, address, addresses) }
  })
}

/** Pattern of a fenced block, which stays unchanged, or a link: its text and its target. */
const BLOCK_OR_LINK = /^( *)```[^]*?^\1```$|\[((?:[^[\]]|\[[^[\]]*\])+)\]\(([^\s()]+)\)/gm

/** Returns the text of a page. Links to files that are not shown become their names in the repository. */
function withoutDeadLinks(text: string, address: string, addresses: ReadonlySet<string>): string {
  return text.replace(BLOCK_OR_LINK, (whole, _indent, label?: string, target?: string) => {
    if (label === undefined || target === undefined || /^(?:#|[a-z]+:)/.test(target)) return whole
    const [file = ''] = target.split('#')
    const linked = path.posix.join(path.posix.dirname(address), file)
    if (addresses.has(linked)) return whole
    const inRepository = path.posix.join('docs', path.posix.dirname(address).slice('/manual/'.length), file)
    return label.includes(inRepository) ? label : `${label} (\`${inRepository}\` in the repository)`
  })
}

/** Serves the pages as Markdown, for agents and people without a copy of the repository. */
export function manualRoutes(app: FastifyInstance, pages: readonly ManualPage[]): void {
  for (const { address, text } of pages) {
    // The text is a Buffer, so that it is compressed only once (http/compression.ts).
    const body = Buffer.from(text)
    app.get(address, { schema: { hide: true } }, (_request, reply) =>
      reply
        .type('text/markdown; charset=utf-8')
        .header('x-content-type-options', 'nosniff')
        .header('cache-control', 'public, max-age=3600')
        .send(body),
    )
  }
}
