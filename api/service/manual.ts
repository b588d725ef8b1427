import { existsSync, readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'
import type { FastifyInstance } from 'fastify'

/** Folders of docs/ that the service shows: their pages link each other. */
const SECTIONS = ['guide', 'reference', 'spec'] as const

/** A page of the documentation, in Markdown. */
export interface ManualPage {
  section: (typeof SECTIONS)[number]
  /** Path on the service, such as `/manual/guide/client.md`. */
  address: string
  title: string
  text: string
}

/** Reads the pages in a folder of documentation; none if this program was installed without it. */
export function readManual(folder: string): ManualPage[] {
  return SECTIONS.flatMap((section) => {
    const directory = path.join(folder, section)
    if (!existsSync(directory)) return []
    const names = readdirSync(directory).filter((name) => name.endsWith('.md'))
    return names.sort().map((name) => {
      const text = readFileSync(path.join(directory, name), 'utf8')
      const [, title = name] = /^# (.+)$/m.exec(text) ?? []
      return { section, address: `/manual/${section}/${name}`, title, text }
    })
  })
}

/** Shows the pages as they are, for agents and people who have no copy of the repository. */
export function manualRoutes(app: FastifyInstance, pages: readonly ManualPage[]): void {
  for (const { address, text } of pages)
    app.get(address, { schema: { hide: true } }, (_request, reply) =>
      reply
        .type('text/markdown; charset=utf-8')
        .header('x-content-type-options', 'nosniff')
        .header('cache-control', 'public, max-age=3600')
        .send(text),
    )
}
