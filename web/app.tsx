import type { ComponentChildren, ComponentType } from 'preact'
import { lazy } from './lazy'
import { goTo, here, type Page } from './location'
import { addressOf } from './service'

const PAGES: Record<Page, { title: string; Content: ComponentType }> = {
  explorer: { title: 'Explore', Content: lazy(async () => (await import('./explorer')).default) },
  playground: { title: 'Ask', Content: lazy(async () => (await import('./playground')).default) },
  attest: { title: 'Attest', Content: lazy(async () => (await import('./attest')).default) },
}

/** Header, and the page of the current address. */
export function App() {
  const { page } = here.value
  const { title, Content } = PAGES[page]
  document.title = `${title} · attested places`
  return (
    <>
      <header>
        <PageLink page="explorer" class="brand">
          Attested places
        </PageLink>
        <nav aria-label="Pages">
          {(Object.keys(PAGES) as Page[]).map((each) => (
            <PageLink key={each} page={each} current={each === page}>
              {PAGES[each].title}
            </PageLink>
          ))}
          <a href={addressOf('manual')}>Manual</a>
          <a href={addressOf('docs')}>API</a>
          <a href={addressOf('graphql')}>GraphQL</a>
          <a href={addressOf('ogc')}>GIS</a>
        </nav>
      </header>
      <main>
        <Content key={page} />
      </main>
    </>
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
