import { existsSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { MOST_OPERATORS } from '../../src/page-header'
import type { Html } from '../http/html'

/** Pages with their own address; the explorer is at /. */
const PAGES = ['/playground', '/attest', '/log']
/** Cache lifetime of assets in seconds; their names change with their content. */
const ASSET_SECONDS = 31_536_000
/** Policy without sources of data. The map draws its images (blob:), attested ones are in records (data:). */
const POLICY = [
  `default-src 'none'`,
  `script-src 'self'`,
  `worker-src 'self'`,
  `style-src 'self'`,
  `img-src 'self' data: blob:`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

export class Pages {
  /** Opens the pages in a folder; undefined if they were not built: the service works without them. */
  static in(
    folder: string,
    localNodes: Readonly<Record<number, string>>,
    basemap?: string,
  ): Pages | undefined {
    return existsSync(path.join(folder, 'index.html')) ? new Pages(folder, localNodes, basemap) : undefined
  }

  /**
   * @param localNodes URLs of local RPC endpoints that the pages may call too, by chain id
   * @param basemap path of a PMTiles file with streets (BASEMAP). @throws Error if it cannot be read
   */
  private constructor(
    private readonly folder: string,
    private readonly localNodes: Readonly<Record<number, string>>,
    private readonly basemap: string | undefined,
  ) {
    // The pages include the file's version in its URL, so that browsers cache its parts.
    if (basemap !== undefined) this.basemapVersion = Math.round(statSync(basemap).mtimeMs).toString(36)
  }

  private readonly basemapVersion: string | undefined

  /** @param operators origins of the operators to which the page may send requests */
  private policy(operators: readonly string[]): string {
    const nodes = Object.values(this.localNodes).map((url) => new URL(url).origin)
    return `${POLICY}; connect-src ${["'self'", ...new Set([...nodes, ...operators])].join(' ')}`
  }

  /** Registers the assets, and the pages except the explorer. */
  async register(app: FastifyInstance): Promise<void> {
    await app.register(fastifyStatic, {
      root: path.join(this.folder, 'assets'),
      prefix: '/assets/',
      preCompressed: true,
      immutable: true,
      maxAge: ASSET_SECONDS * 1000,
      setHeaders: (reply) => void reply.header('x-content-type-options', 'nosniff'),
    })
    const { basemap } = this
    if (basemap !== undefined)
      // Sends byte ranges of the file (RFC 9110, 14), as readers of PMTiles request them.
      app.get('/basemap.pmtiles', { schema: { hide: true } }, (_request, reply) =>
        reply
          .type('application/vnd.pmtiles')
          .sendFile(path.basename(basemap), path.dirname(path.resolve(basemap)), {
            ...{ immutable: true, maxAge: ASSET_SECONDS * 1000, preCompressed: false },
          }),
      )
    app.get('/local-nodes', { schema: { hide: true } }, () => this.localNodes)
    for (const page of PAGES)
      app.get<{ Querystring: { operators?: unknown } }>(page, { schema: { hide: true } }, (request, reply) =>
        this.send(reply, page === '/playground' ? originsIn(request.query.operators) : []),
      )
  }

  /** Sends the document that all pages share. `operators` are origins to which it may send requests. */
  send(reply: FastifyReply, operators: readonly string[] = []): FastifyReply {
    if (this.basemap !== undefined) return this.sendWith(reply, './', undefined, operators)
    return this.withPolicy(reply, operators).sendFile('index.html', this.folder, {
      maxAge: 0,
      immutable: false,
    })
  }

  /**
   * Sends the document with parts of a page of its own: its head, and content for browsers without scripts.
   * @param root address of the service's root, relative to the page, with a trailing slash
   */
  sendWith(
    reply: FastifyReply,
    root: string,
    parts?: { head: Html; noscript: Html },
    operators: readonly string[] = [],
  ): FastifyReply {
    let document = readFileSync(path.join(this.folder, 'index.html'), 'utf8').replaceAll('"./', `"${root}`)
    if (this.basemapVersion !== undefined)
      document = document.replace('<html ', `<html data-basemap="${this.basemapVersion}" `)
    if (parts)
      document = document
        .replace(/<title>[^<]*<\/title>/, () => String(parts.head))
        .replace(/<noscript>[^]*<\/noscript>/, () => `<noscript>${String(parts.noscript)}</noscript>`)
    return this.withPolicy(reply, operators)
      .header('cache-control', 'no-cache')
      .type('text/html; charset=utf-8')
      .send(document)
  }

  private withPolicy(reply: FastifyReply, operators: readonly string[]): FastifyReply {
    return reply.headers({
      'content-security-policy': this.policy(operators),
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    })
  }
}

/** Origins of the operators that the address of a page names, comma-separated, without wildcards. */
function originsIn(operators: unknown): string[] {
  if (typeof operators !== 'string') return []
  return operators
    .split(',')
    .slice(0, MOST_OPERATORS)
    .flatMap((url) => (URL.canParse(url) ? [new URL(url).origin] : []))
    .filter((origin) => /^https?:\/\/[\w.:[\]-]+$/.test(origin))
}
