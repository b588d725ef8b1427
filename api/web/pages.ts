import { existsSync } from 'node:fs'
import path from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply } from 'fastify'

/** Pages with their own address; the explorer is at /. */
const PAGES = ['/playground', '/attest']
/** Cache lifetime of assets in seconds; their names change with their content. */
const ASSET_SECONDS = 31_536_000
/**
 * Content-Security-Policy: scripts, workers and styles of this service only; `policy` adds the sources of
 * data. The map draws its own images (blob:); attested ones are shown from the record that holds them
 * (data:).
 */
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

/** The built pages in a folder. */
export class Pages {
  /** Opens the pages in a folder; undefined if they were not built: the service works without them. */
  static in(folder: string, localNodes: Readonly<Record<number, string>>): Pages | undefined {
    return existsSync(path.join(folder, 'index.html')) ? new Pages(folder, localNodes) : undefined
  }

  /**
   * @param localNodes URLs of local RPC endpoints that the pages may call too, by chain id (setting
   * LOCAL_NODES)
   */
  private constructor(
    private readonly folder: string,
    private readonly localNodes: Readonly<Record<number, string>>,
  ) {}

  private get policy(): string {
    const nodes = Object.values(this.localNodes).map((url) => new URL(url).origin)
    return `${POLICY}; connect-src ${["'self'", ...nodes].join(' ')}`
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
    app.get('/local-nodes', { schema: { hide: true } }, () => this.localNodes)
    for (const page of PAGES) app.get(page, { schema: { hide: true } }, (_request, reply) => this.send(reply))
  }

  /** Sends the document that all pages share. */
  send(reply: FastifyReply): FastifyReply {
    return reply
      .headers({
        'content-security-policy': this.policy,
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      })
      .sendFile('index.html', this.folder, { maxAge: 0, immutable: false })
  }
}
