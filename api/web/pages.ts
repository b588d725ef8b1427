import { existsSync } from 'node:fs'
import path from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply } from 'fastify'

/** Pages that are addresses of their own; the explorer is at /. */
const PAGES = ['/playground', '/attest']
/** Seconds; the names of assets change with their content. */
const ASSET_SECONDS = 31_536_000
/**
 * Content-Security-Policy: scripts, workers, styles and data of this service only. The map draws its pictures
 * itself (blob:); attested ones are shown from the record that holds them (data:).
 */
const POLICY = [
  `default-src 'none'`,
  `script-src 'self'`,
  `worker-src 'self'`,
  `style-src 'self'`,
  `img-src 'self' data: blob:`,
  `connect-src 'self'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

/** The built pages in a folder. */
export class Pages {
  /** Undefined where nothing was built: the service works without. */
  static in(folder: string): Pages | undefined {
    return existsSync(path.join(folder, 'index.html')) ? new Pages(folder) : undefined
  }

  private constructor(private readonly folder: string) {}

  /** Registers the assets, and the pages but for the explorer. */
  async register(app: FastifyInstance): Promise<void> {
    await app.register(fastifyStatic, {
      root: path.join(this.folder, 'assets'),
      prefix: '/assets/',
      preCompressed: true,
      immutable: true,
      maxAge: ASSET_SECONDS * 1000,
      setHeaders: (reply) => void reply.header('x-content-type-options', 'nosniff'),
    })
    for (const page of PAGES) app.get(page, { schema: { hide: true } }, (_request, reply) => this.send(reply))
  }

  /** Sends the document that all pages share. */
  send(reply: FastifyReply): FastifyReply {
    return reply
      .headers({
        'content-security-policy': POLICY,
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      })
      .sendFile('index.html', this.folder, { maxAge: 0, immutable: false })
  }
}
