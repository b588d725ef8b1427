import { rmSync } from 'node:fs'
import { PGlite } from '@electric-sql/pglite'
import { postgis } from '@electric-sql/pglite-postgis'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'

/**
 * The embedded database: Postgres with PostGIS in this process (PGlite), behind a socket that Postgres clients connect to.
 * `node dist/dev/database.js <port> [folder]`: without a folder it lives in memory. A process of its own, since a query
 * holds its event loop. Tells its parent when it can be connected to. One session for all: no SET, no LISTEN, and an
 * open transaction makes the others wait.
 */
async function main(): Promise<void> {
  const [port, folder] = process.argv.slice(2)
  const database = await open(folder)
  const server = new PGLiteSocketServer({ db: database, host: '127.0.0.1', port: Number(port), maxConnections: 100 })
  await server.start()
  process.send?.('ready')

  let stopping = false
  const stop = async () => {
    if (stopping) return
    stopping = true
    await server.stop().catch(() => {})
    await database.close()
    process.exit(0)
  }
  // Whoever started it stops it; a Ctrl-C in the terminal reaches the whole group, but the indexer must finish first.
  process.on('SIGINT', () => {})
  process.once('SIGTERM', () => void stop())
  process.once('disconnect', () => void stop())
}

async function open(folder: string | undefined): Promise<PGlite> {
  const create = () => PGlite.create({ ...(folder ? { dataDir: folder } : {}), extensions: { postgis } })
  try {
    return await create()
  } catch (error) {
    if (!folder) throw error
    // Killed in the middle of a write. All it held is on the chain, from where it is read again.
    console.log('rebuilding')
    rmSync(folder, { recursive: true, force: true })
    return create()
  }
}

main().catch((error: Error) => {
  console.error(error)
  process.exit(1)
})
