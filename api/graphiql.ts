import { readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { graphqlSchemas } from './openapi-graphql'

/**
 * GraphiQL with an explorer of the schema: the build that @subsquid/graphiql-console carries, from our own address, in a page
 * of our own. Nothing is loaded from elsewhere, and the page's policy would not let it.
 */

/** Files of the build: a name of ours for what its names end with. */
const PARTS = ['runtime.js', 'library.js', 'main.js', 'library.css', 'main.css'] as const
const FOUND_BY: Readonly<Record<(typeof PARTS)[number], RegExp>> = {
  'runtime.js': /^runtime~main\..*\.js$/,
  'library.js': /^1\..*\.chunk\.js$/,
  'main.js': /^main\..*\.chunk\.js$/,
  'library.css': /^1\..*\.chunk\.css$/,
  'main.css': /^main\..*\.chunk\.css$/,
}
/** The editor measures and places itself by style attributes, which no hash covers. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const PAGE = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex">
<title>GraphQL of attested places</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="PATH/graphiql/library.css"><link rel="stylesheet" href="PATH/graphiql/main.css"></head>
<body><noscript>This page needs JavaScript; queries are sent by POST as JSON.</noscript><div id="root"></div>
<script src="PATH/graphiql/settings.js"></script><script src="PATH/graphiql/runtime.js"></script><script src="PATH/graphiql/library.js"></script><script src="PATH/graphiql/main.js"></script></body></html>
`

/** GET of the scope's own path: the page for a browser, which opens with `examples`; what `otherwise` answers for anyone else; and what the page loads. */
export async function graphiqlRoutes(
  app: FastifyInstance,
  examples: string,
  otherwise: (request: FastifyRequest, reply: FastifyReply) => never,
): Promise<void> {
  const files = readBuild()
  // By relative addresses the page works behind whatever path a proxy puts before ours, and with a slash at its end.
  const settings = `window.GRAPHQL_API = location.pathname.replace(/\\/+$/, ''); window.GRAPHQL_DEFAULT_QUERY = ${JSON.stringify(examples)}\n`
  const name = app.prefix.split('/').pop()!

  app.get('/', { schema: graphqlSchemas.graphiql, prefixTrailingSlash: 'no-slash' }, (request, reply) => {
    reply.header('vary', 'accept')
    if (!/\btext\/html\b/.test(request.headers.accept ?? '')) return otherwise(request, reply)
    return reply
      .headers({ 'content-security-policy': POLICY, 'referrer-policy': 'no-referrer' })
      .type('text/html; charset=utf-8')
      .send(PAGE.replaceAll('PATH', request.url.split('?')[0]!.endsWith('/') ? '.' : name))
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

/** The build's files, by our names for them. Throws when the package holds something else than it did. */
function readBuild(): ReadonlyMap<string, Buffer> {
  const folder = path.join(
    path.dirname(require.resolve('@subsquid/graphiql-console/package.json')),
    'build/static',
  )
  return new Map(
    PARTS.map((part) => {
      const kind = path.extname(part).slice(1)
      const found = readdirSync(path.join(folder, kind)).find((file) => FOUND_BY[part].test(file))
      if (found === undefined) throw new Error(`@subsquid/graphiql-console holds no ${part}`)
      return [part, readFileSync(path.join(folder, kind, found))]
    }),
  )
}
