import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { Marked } from 'marked'
import { html, trusted, type Html } from '../http/html'
import { clientOf } from '../http/limits'
import { anchor, list, page, rootOf, searchForm, searchText, sendPage } from '../http/pages'
import { busyWith } from '../http/semaphore'
import { Turns } from '../http/turns'
import { beginWork, workOf } from '../http/work'
import { manualSearch, pageAnchors, plainOf, type Found } from './manual-search'
import { SECTIONS, type ManualPage } from './manual'

const LABEL = 'Search the manual'
/** Searches take up to 20 ms of the main thread, uncounted; other work then has it for IDLE times as long. */
const SEARCHES = { all: 1, each: { quick: 1, slow: 1 }, waiting: 64, waitingEach: 8, waitMs: 5_000 }
const IDLE = 4

/** Serves the manual for browsers, with a search without scripts: `GET /manual?q=`. `/guide` leads to it. */
export function manualPageRoutes(
  app: FastifyInstance,
  pages: readonly ManualPage[],
  waitMs = SEARCHES.waitMs,
): void {
  let search: ReturnType<typeof manualSearch> | undefined
  const turns = new Turns(
    { ...SEARCHES, waitMs },
    busyWith(
      'Too many of your searches of the manual are queued. Retry later.',
      'Too many searches of the manual are queued.',
    ),
  )
  const hits = async (text: string): Promise<Html> => {
    search ??= manualSearch(pages)
    const began = performance.now()
    const shown = results(text, search(text))
    await pause(IDLE * (performance.now() - began))
    return shown
  }
  app.get<{ Querystring: { q?: unknown } }>('/manual', { schema: { hide: true } }, async (request, reply) => {
    const text = searchText(request.query)
    beginWork(request, reply, clientOf(request))
    const shown = text.trim() ? await turns.take(workOf(request), () => hits(text)) : contents(pages)
    return sendPage(reply, page('Manual', [], html`${searchForm('manual', LABEL, text, true)}${shown}`), {
      form: true,
    })
  })
  for (const { address, title, text } of pages) {
    let body: Html | undefined
    app.get(address.replace(/\.md$/, ''), { schema: { hide: true } }, (_request, reply) => {
      body ??= html`${searchForm('../../manual', LABEL, '')}<article>${trusted(rendered(text))}</article>`
      const trail = [{ href: '../../manual', title: 'Manual' }]
      return sendPage(reply.header('cache-control', 'public, max-age=3600'), page(title, trail, body), {
        form: true,
      })
    })
  }
  const redirect = (from: string, to: string) =>
    app.get(from, { schema: { hide: true } }, ({ url }, reply) => reply.redirect(`${rootOf(url)}${to}`, 308))
  redirect('/guide', 'manual')
  for (const each of pages)
    if (each.section === 'guide') redirect(linkTo(each).replace('manual', ''), linkTo(each))
}

const isTutorial = ({ address }: ManualPage) => address.endsWith('/first-steps.md')

function contents(pages: readonly ManualPage[]): Html {
  const sections = Object.entries(SECTIONS).map(([section, title]) => {
    const inSection = pages.filter((each) => each.section === section)
    // The tutorial is the page for readers who know no other yet.
    inSection.sort((a, b) => Number(isTutorial(b)) - Number(isTutorial(a)))
    return html`<h2>${title}</h2>${list(inSection.map((each) => anchor(linkTo(each), each.title)))}`
  })
  return html`${sections}`
}

function results(text: string, found: readonly Found[]): Html {
  if (found.length === 0)
    return html`<p role="status">No section contains all words of “${text}”. Use fewer words, or their beginnings.</p><p>${anchor('manual', 'All pages')}</p>`
  const items = found.map(({ page: on, heading, anchor: at, excerpt }) => {
    const title = on.title === heading ? heading : `${on.title}: ${heading}`
    const marked = excerpt.map((part) => (part.hit ? html`<mark>${part.text}</mark>` : html`${part.text}`))
    return html`${anchor(`${linkTo(on)}${at && `#${at}`}`, title)}<br>${marked}`
  })
  return html`<p role="status">${found.length} ${found.length === 1 ? 'section' : 'sections'}</p>${list(items)}`
}

/** Returns the address of a page, relative to the root. */
const linkTo = ({ address }: ManualPage): string => address.slice(1).replace(/\.md$/, '')

/** Returns the markup of a page, without its title. Its Markdown is part of this program. */
function rendered(text: string): string {
  const anchorFor = pageAnchors()
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text: heading }) {
        if (depth === 1) return ''
        return `<h${depth} id="${anchorFor(plainOf(heading))}">${this.parser.parseInline(tokens)}</h${depth}>`
      },
      link({ href, tokens }) {
        const target = /^[a-z]+:/.test(href) ? href : href.replace(/\.md(?=#|$)/, '')
        return `<a href="${target}">${this.parser.parseInline(tokens)}</a>`
      },
    },
  })
  return marked.parse(text, { async: false })
}
