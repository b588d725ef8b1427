import type { ComponentChildren, ComponentType } from 'preact'
import { SITE_NAME, SITE_PAGES } from '../src/page-header'
import { lazy } from './lazy'
import { goTo, here, type Page } from './location'
import { Search } from './search'
import { addressOf } from './service'
import { say } from './messages'

const PAGES: Record<Page, ComponentType> = {
  explorer: lazy(async () => (await import('./explorer')).default),
  playground: lazy(async () => (await import('./playground')).default),
  attest: lazy(async () => (await import('./attest')).default),
  log: lazy(async () => (await import('./log')).default),
}

/** Header, and the page of the current address. */
export function App() {
  const { page } = here.value
  const Content = PAGES[page]
  document.title = `${say.site.pages[page === 'explorer' ? '' : page]} · ${SITE_NAME}`
  return (
    <>
      <header class="site">
        <PageLink page="explorer" class="brand">
          {SITE_NAME}
        </PageLink>
        <nav aria-label={say.site.navigation}>
          {SITE_PAGES.map((site) => (
            <SiteLink key={site.path} site={site} current={page} />
          ))}
          <details>
            <summary>{say.site.more}</summary>
            <div>
              {SITE_PAGES.filter(({ isMain }) => !isMain).map((site) => (
                <SiteLink key={site.path} site={site} current={page} />
              ))}
            </div>
          </details>
        </nav>
        <Search />
      </header>
      <main>
        <Content key={page} />
      </main>
    </>
  )
}

/** Link to a page of the header: one of these pages, or a page of the API. */
function SiteLink({ site: { path, isMain }, current }: { site: (typeof SITE_PAGES)[number]; current: Page }) {
  const page = path === '' ? 'explorer' : path
  const name = say.site.pages[path]
  const className = isMain ? undefined : 'minor'
  return Object.hasOwn(PAGES, page) ? (
    <PageLink page={page as Page} class={className} current={page === current}>
      {name}
    </PageLink>
  ) : (
    <a href={addressOf(path)} class={className}>
      {name}
    </a>
  )
}

function PageLink({
  page,
  current = false,
  class: className,
  children,
}: {
  page: Page
  current?: boolean
  class?: string
  children: ComponentChildren
}) {
  return (
    <a
      href={page === 'explorer' ? addressOf('') : addressOf(page)}
      class={className}
      aria-current={current ? 'page' : undefined}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return
        event.preventDefault()
        goTo(page)
      }}
    >
      {children}
    </a>
  )
}
