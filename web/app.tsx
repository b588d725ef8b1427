import type { ComponentType } from 'preact'
import { SITE_NAME, SITE_PAGES } from '../src/page-header'
import { lazy } from './lazy'
import { hrefOf, placeTitle, shownPage, type Page } from './location'
import { Search } from './search'
import { addressOf } from './service'
import { say } from './messages'

const Places = lazy(async () => (await import('./explorer')).default)
/** Explorer, playground and attest page are one page, so that they share its map. */
const PAGES: Record<Page, ComponentType> = {
  ...{ explorer: Places, playground: Places, attest: Places },
  log: lazy(async () => (await import('./log')).default),
}

/** Header, and the page of the current address. */
export function App() {
  const page = shownPage.value
  const Content = PAGES[page]
  const title = placeTitle.value ?? say.site.pages[page === 'explorer' ? '' : page]
  document.title = `${title} · ${SITE_NAME}`
  return (
    <>
      <header class="site">
        <a href={addressOf('')} class="brand">
          {SITE_NAME}
        </a>
        <nav aria-label={say.site.navigation}>
          {SITE_PAGES.map((site) => (
            <SiteLink key={site.path} site={site} />
          ))}
          {/* The key closes the menu when another page opens. */}
          <details key={page}>
            <summary>{say.site.more}</summary>
            <div>
              {SITE_PAGES.filter(({ isMain }) => !isMain).map((site) => (
                <SiteLink key={site.path} site={site} />
              ))}
            </div>
          </details>
        </nav>
        <Search />
      </header>
      <main>
        <Content />
      </main>
    </>
  )
}

/** Link to a page of the header: one of these pages in its last state, or a page of the API. */
function SiteLink({ site: { path, isMain } }: { site: (typeof SITE_PAGES)[number] }) {
  const page = path === '' ? 'explorer' : path
  return (
    <a
      href={Object.hasOwn(PAGES, page) ? hrefOf(page as Page) : addressOf(path)}
      class={isMain ? undefined : 'minor'}
      aria-current={page === shownPage.value ? 'page' : undefined}
    >
      {say.site.pages[path]}
    </a>
  )
}
