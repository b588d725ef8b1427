import { readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'
import type { FastifyInstance } from 'fastify'
import { namesType } from '../http/accept'
import { HEADER_STYLE } from '../../src/page-header'
import { header, rootOf } from '../http/pages'
import { graphqlSchemas } from './openapi'

/**
 * GraphiQL with a schema explorer: the build in @subsquid/graphiql-console, in a page of this service. The
 * page's content security policy allows its own origin only.
 */

/** Files of the build: the names under which they are served, with patterns of their own names. */
const PARTS: Readonly<Record<string, RegExp>> = {
  'runtime.js': /^runtime~main\..*\.js$/,
  'library.js': /^1\..*\.chunk\.js$/,
  'main.js': /^main\..*\.chunk\.js$/,
  'library.css': /^1\..*\.chunk\.css$/,
  'main.css': /^main\..*\.chunk\.css$/,
}
/** The editor sets style attributes, which no hash in the policy can cover. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/**
 * The editor fills the height that the page leaves it. Its colours have a contrast of at least 4.5. A dark
 * page inverts the colours, because the build has no dark theme: also those of hints, outside #root. Values
 * of the explorer are monospaced, because the build sets the width of a field to its characters.
 */
const STYLE = `
html, body { height: 100% } body { display: flex; flex-direction: column; margin: 0; background: var(--surface) }
#root { flex: 1; min-height: 0; color-scheme: light; color: #000; background: #fff } #root > *, #root .graphiql-container { height: 100% !important }
#root .cm-comment, #root .CodeMirror-linenumber { color: #666 !important } #root .cm-atom { color: #8a6300 !important }
#root [style*="rgb(214, 66, 146)"], #root .cm-string { color: #b8206f !important } #root [style*="rgb(40, 130, 249)"], #root .cm-number { color: #0b5cad !important }
#root [style*="rgb(202, 152, 0)"], .CodeMirror-info .type-name { color: #8a6300 !important } #root [style*="rgb(212, 117, 9)"], #root .cm-builtin { color: #9a5200 !important }
.CodeMirror-info .info-description { color: #666 } #root .graphiql-explorer-root input { font: 12px monospace }
@media (prefers-color-scheme: dark) { :is(#root, body > .CodeMirror-info, body > .CodeMirror-lint-tooltip) { filter: invert(.9) hue-rotate(180deg) } }
`

/**
 * Names form fields for screen readers, and makes the editors scrollable by keyboard. Closes the explorer
 * once on a narrow page, where it would cover the editor.
 */
const NAMES = `let isFolded = !matchMedia('(max-width: 48rem)').matches
new MutationObserver(() => {
  const close = document.querySelector('.graphiql-explorer-root') && document.querySelector('#root .docExplorerHide')
  if (close && !isFolded) setTimeout(() => close.click())
  isFolded ||= Boolean(close)
  for (const field of document.querySelectorAll('#root :is(input, select, textarea):not([aria-label])'))
    field.setAttribute('aria-label', field.closest('.CodeMirror') ? (field.readOnly ? 'Response' : field.closest('.variable-editor, .codemirrorWrap:not(.query-editor)') ? 'Variables' : 'Query') : field.parentElement.textContent.trim().slice(0, 40) || 'Value')
  for (const pane of document.querySelectorAll('#root .CodeMirror-scroll[tabindex="-1"]')) pane.tabIndex = 0
  document.querySelector('.docExplorerShow[aria-label^="Open"]')?.removeAttribute('aria-label')
}).observe(document.getElementById('root'), { childList: true, subtree: true })
`

/** Opens the page with the query of its address, such as that of a place. */
const ASKED = `GRAPHQL_DEFAULT_QUERY = new URLSearchParams(location.search).get('query') || GRAPHQL_DEFAULT_QUERY`

const PAGE = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex">
<title>GraphQL of attested places</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="PATH/graphiql/library.css"><link rel="stylesheet" href="PATH/graphiql/main.css"><style>${HEADER_STYLE}${STYLE}</style></head>
<body>HEADER<noscript>This page needs JavaScript; queries are sent by POST as JSON.</noscript><div id="root"></div>
<script src="PATH/graphiql/settings.js"></script><script src="PATH/graphiql/runtime.js"></script><script src="PATH/graphiql/library.js"></script><script src="PATH/graphiql/main.js"></script></body></html>
`

/**
 * Routes of the page and its files. GET of the scope's own path returns the page to a browser, opened with
 * the parameter `query` or with `examples`. For other clients, `otherwise` throws.
 */
export async function graphiqlRoutes(
  app: FastifyInstance,
  examples: string,
  otherwise: () => never,
): Promise<void> {
  const files = readBuild()
  // Relative addresses work behind any path prefix of a reverse proxy, with or without a trailing slash.
  const settings = `window.GRAPHQL_API = location.pathname.replace(/\\/+$/, ''); window.GRAPHQL_DEFAULT_QUERY = ${JSON.stringify(examples)}\n${ASKED}\n${NAMES}`
  const name = app.prefix.split('/').pop()!

  app.get('/', { schema: graphqlSchemas.graphiql, prefixTrailingSlash: 'no-slash' }, (request, reply) => {
    reply.header('vary', 'accept')
    if (!namesType(request.headers.accept, 'text/html')) return otherwise()
    return reply
      .headers({ 'content-security-policy': POLICY, 'referrer-policy': 'no-referrer' })
      .type('text/html; charset=utf-8')
      .send(
        PAGE.replaceAll('PATH', request.url.split('?')[0]!.endsWith('/') ? '.' : name).replace(
          'HEADER',
          header(rootOf(request.url), 'graphql').toString(),
        ),
      )
  })
  app.get<{ Params: { file: string } }>('/graphiql/:file', { schema: { hide: true } }, (request, reply) => {
    const { file } = request.params
    const content = file === 'settings.js' ? settings : files.get(file)
    if (content === undefined) return reply.callNotFound()
    return reply
      .header('cache-control', file === 'settings.js' ? 'no-cache' : 'public, max-age=86400')
      .type(file.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8')
      .send(content)
  })
}

function readBuild(): ReadonlyMap<string, Buffer> {
  const folder = path.join(
    path.dirname(require.resolve('@subsquid/graphiql-console/package.json')),
    'build/static',
  )
  return new Map(
    Object.entries(PARTS).map(([part, pattern]) => {
      const kind = path.extname(part).slice(1)
      const found = readdirSync(path.join(folder, kind)).find((file) => pattern.test(file))
      if (found === undefined) throw new Error(`@subsquid/graphiql-console does not contain ${part}`)
      return [part, readFileSync(path.join(folder, kind, found))]
    }),
  )
}
