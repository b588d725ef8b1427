import Fastify from 'fastify'
import { Pool } from 'pg'

/**
 * A plain server to compare lists of records with: `node dist/bench/bare-records.js <port> <database>`
 * answers GET /?bbox=... by node-postgres and Fastify's JSON. It checks nothing and knows one filter, no
 * antimeridian, no checksums and no cursors.
 */
async function main(): Promise<void> {
  const pool = new Pool({ connectionString: process.argv[3]!, max: 10 })
  const app = Fastify()
  app.get<{ Querystring: { bbox: string } }>('/', async (request) => {
    const { rows } = await pool.query(
      `SELECT uid, chain, prover, subject, timestamp, event_timestamp, srs, location_type, location, longitude::float8 AS longitude, latitude::float8 AS latitude,
         recipe_types, recipe_payloads, media_types, media_data, memo, revoked, created_at, updated_at
       FROM location_record WHERE ST_Intersects(geom, ST_MakeEnvelope($1, $2, $3, $4, 4326)) ORDER BY timestamp DESC, id DESC LIMIT 100`,
      request.query.bbox.split(','),
    )
    return { data: rows, count: rows.length, limit: 100, offset: 0 }
  })
  await app.listen({ host: '127.0.0.1', port: Number(process.argv[2]) })
  process.send?.('listening')
}

process.once('SIGTERM', () => process.exit(0))
process.once('disconnect', () => process.exit(0))
void main()
