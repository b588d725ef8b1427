/** Colours, header and limits of all pages: those of web/ and those that the API renders. */

/**
 * Custom properties and text of light and dark pages. Text has a contrast of at least 4.5 on both surfaces.
 */
export const TOKENS = `
:root {
  color-scheme: light dark;
  --text: light-dark(#1c1f23, #e8ecf0);
  --soft-text: light-dark(#5a6169, #a5afb9);
  --surface: light-dark(#ffffff, #1b2229);
  --raised: light-dark(#f4f6f8, #232c35);
  --line: light-dark(#d9dee3, #37424d);
  --accent: light-dark(#0b5cad, #7ab8ff);
  --on-accent: light-dark(#ffffff, #0b1826);
  --danger: light-dark(#b3261e, #ff8a80);
  --good: light-dark(#1b6e3c, #7fd6a2);
  --radius: 0.5rem;
  --shadow: 0 1px 3px #0003, 0 6px 24px #0002;
  font: 0.9375rem/1.45 system-ui, sans-serif;
  color: var(--text);
  background: var(--surface);
}
`

/** Name of the service in its header and titles. */
export const SITE_NAME = 'Attested places'

/**
 * Pages of the header, by their address below the root. Those that people use first stay visible on a phone.
 */
export const SITE_PAGES = [
  { path: '', name: 'Explore', isMain: true },
  { path: 'playground', name: 'Ask', isMain: true },
  { path: 'attest', name: 'Attest', isMain: true },
  { path: 'manual', name: 'Manual', isMain: false },
  { path: 'docs', name: 'API', isMain: false },
  { path: 'graphql', name: 'GraphQL', isMain: false },
  { path: 'ogc', name: 'GIS', isMain: false },
  { path: 'log', name: 'Log', isMain: false },
] as const

/**
 * Maximum number of operators of a quorum that the address of a page names. The Content-Security-Policy of
 * the page lists their origins, and the limit keeps that header short.
 */
export const MOST_OPERATORS = 64

/**
 * Style of the header. The main pages are actions on one map, so their links look like the parts of one
 * control. A phone shows them, shortened if a language has longer names, and the others in a menu. Selectors
 * are as specific as those of the documents that contain it: GraphiQL brings its own rules for all elements.
 */
export const HEADER_STYLE = `${TOKENS}
.site { display: flex; flex: none; align-items: center; gap: 1.5rem; height: 3rem; padding: 0 1rem; box-sizing: border-box; border-bottom: 1px solid var(--line); font-size: 1rem; font-family: system-ui, sans-serif; line-height: 1.45; color: var(--text); background: var(--surface) }
.site * { box-sizing: border-box; font: inherit }
.site a, .site summary { color: var(--text); text-decoration: none; white-space: nowrap; padding: 0.35rem 0.6rem; border-radius: var(--radius); cursor: pointer }
.site a:hover, .site summary:hover { background: var(--raised) }
.site a.brand { padding: 0; font-weight: 700; background: none }
.site nav { display: flex; align-items: center; gap: 0.25rem }
.site nav > a:not(.minor) { border: 1px solid var(--line); border-radius: 0 }
.site nav > a:first-child { border-start-start-radius: var(--radius); border-end-start-radius: var(--radius) }
.site nav > a:nth-child(3) { border-start-end-radius: var(--radius); border-end-end-radius: var(--radius) }
.site nav > a:not(.minor) + a:not(.minor) { margin-inline-start: calc(-0.25rem - 1px) }
.site nav a[aria-current] { background: var(--raised); color: var(--accent); box-shadow: inset 0 -2px }
@media (forced-colors: active) { .site nav a[aria-current] { text-decoration: underline; text-underline-offset: 0.3em } }
.site nav details { display: none; position: relative; padding: 0; border: 0 }
.site details div { position: absolute; z-index: 20; top: 100%; inset-inline-end: 0; display: flex; flex-direction: column; min-width: 9rem; padding: 0.3rem; background: var(--surface); border: 1px solid var(--line); border-radius: var(--radius); box-shadow: var(--shadow) }
.site :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
@media (max-width: 48rem) { .site { padding: 0 0.5rem; gap: 0.5rem } .site a.brand, .site nav > a.minor { display: none } .site nav { flex: 1; min-width: 0 } .site nav > a { flex: 1; min-width: 0; overflow: hidden; text-align: center; text-overflow: ellipsis } .site nav details { display: block; flex: none } }
`
