import { readFileSync } from 'node:fs'
import Fastify from 'fastify'
import { Pool } from 'pg'
import type { Statement } from '../api/store/model'

/**
 * Minimal Node server for lists of records, for comparison: `node dist/bench/bare-records.js <port>
 * <database> <file>` answers GET /<n> by running the statements of page n in the file, and passes Postgres's
 * text through unchanged. It has no validation, state, cursors, links, limits or log.
 */
async function main(): Promise<void> {
  const [port, connectionString, file] = process.argv.slice(2) as [string, string, string]
  const pages = JSON.parse(readFileSync(file, 'utf8')) as Statement[][]
  // Options like those of the API's lists (store.ts).
  const pool = new Pool({ connectionString, max: 8, options: '-c jit=off' })
  const app = Fastify()
  app.get<{ Params: { page: string } }>('/:page', async (request, reply) => {
    let text = ''
    for (const { text: statement, values } of pages[Number(request.params.page)]!)
      text += (await pool.query<{ lines?: string | null }>(statement, values)).rows[0]?.lines ?? ''
    return reply.type('application/json').send(Buffer.from(text))
  })
  await app.listen({ host: '127.0.0.1', port: Number(port) })
  process.send?.('listening')
}

process.once('SIGTERM', () => process.exit(0))
process.once('disconnect', () => process.exit(0))
void main()
