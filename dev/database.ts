import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { PGlite } from '@electric-sql/pglite'
import { postgisAlone, rememberLargeKeys } from './postgis'
import { MAKE, copyPrepared, type DatabaseRequest } from './prepared'
import { blankSettings } from './settings'

/**
 * Embedded database: Postgres with PostGIS in this process (PGlite), behind a socket for Postgres clients.
 * `node dist/dev/database.js [--small] <port> [folder]`; without a folder it is in memory. `--small` is for
 * little data: less memory and a quicker start, but slower long queries. It needs its own process, because a
 * query blocks its event loop. It notifies its parent when it accepts connections. All clients share one
 * session: no SET, no LISTEN, and an open transaction makes the others wait. Without a port, it opens and
 * closes the databases that its parent requests.
 */
async function main(): Promise<void> {
  const {
    positionals: [port, folder],
    values: { small },
  } = parseArgs({ allowPositionals: true, options: { small: { type: 'boolean' } } })
  if (small) {
    // The default is 1.8 million. A start runs many functions of Postgres, but few of them often.
    setFlagsFromString('--wasm-tiering-budget=180000000')
    // The default is 160 MB, in addition to the files themselves in memory or in the system's cache.
    startParameters.push('-c', 'shared_buffers=32MB')
  }
  rememberLargeKeys()
  if (port === MAKE) return make(folder!)
  if (port === undefined) return openForParent()
  const { close } = await start(Number(port), folder)
  process.send?.('ready')

  let stopping = false
  const stop = async () => {
    if (stopping) return
    stopping = true
    await close()
    process.exit(0)
  }
  // The parent stops this process. A Ctrl-C reaches the whole group, but the indexer must finish first.
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
  process.once('SIGTERM', () => void stop())
  process.once('disconnect', () => void stop())
}

/** Responds to each request with its port, and the message of an error. */
function openForParent(): void {
  const opened = new Map<number, Listening>()
  const handle = async ({ port, folder, closes }: DatabaseRequest) => {
    if (!closes) return void opened.set(port, await start(port, folder))
    await opened.get(port)?.close()
    opened.delete(port)
  }
  process.on('message', (request: DatabaseRequest) => {
    const respond = (error?: Error) => process.send?.({ port: request.port, error: error?.message })
    handle(request).then(() => respond(), respond)
  })
  process.once('disconnect', () => process.exit(0))
}

async function start(port: number, folder: string | undefined): Promise<Listening> {
  const database = await open(folder)
  const listening = await listen(database, port)
  const close = async () => {
    await listening.close()
    await database.close()
  }
  return { ...listening, close }
}

/** initdb's limits of 5 and 64 segments would copy unused ones at each start, and slow down long writes. */
const WAL_SIZES = ['-c', 'min_wal_size=2MB', '-c', 'max_wal_size=1GB']
const startParameters = [...PGlite.defaultStartParams, ...WAL_SIZES]

async function open(folder: string | undefined): Promise<PGlite> {
  // The client creates the extension.
  if (!folder) return create()
  if (!existsSync(path.join(folder, 'PG_VERSION'))) await copyPrepared(folder)
  try {
    return await create(folder)
  } catch (error) {
    // The database was killed during a write, or lacks memory. Its records are indexed again from the chain.
    // Only this copy has the transparency log and its key, and the webhooks.
    let damaged = `${folder}.damaged`
    // An earlier start may have moved the only database with records there, if this start also lacks memory.
    for (let n = 2; existsSync(damaged); n++) damaged = `${folder}.damaged-${n}`
    console.error(`${folder} is now ${damaged}, because it cannot be opened:`, error)
    renameSync(folder, damaged)
    await copyPrepared(folder)
    return create(folder)
  }
}

function create(dataDir?: string): Promise<PGlite> {
  return PGlite.create({
    ...(dataDir !== undefined && { dataDir }),
    extensions: { postgis: postgisAlone },
    startParams: startParameters,
    // Each copy of the prepared folder has two segments of the write-ahead log, of 16 MB by default.
    initDbStartParams: ['--wal-segsize=1'],
  })
}

/** Creates the folder of dev/prepared.ts: a new database with PostGIS and the migrations. */
async function make(folder: string): Promise<void> {
  mkdirSync(path.dirname(folder), { recursive: true })
  const database = await create(folder)
  await database.exec('CREATE EXTENSION postgis')
  const { port, close } = await listen(database, 0)
  const DATABASE_URL = `postgres://postgres@127.0.0.1:${port}/postgres`
  // The module is loaded only here, because not every start needs it.
  const { processEnvironment } = await import('../src/config.js')
  const environment = { ...processEnvironment(), ...blankSettings(), DATABASE_URL }
  const migration = spawn(process.execPath, ['lib/migrate.js'], { env: environment, stdio: 'inherit' })
  const [code] = (await once(migration, 'exit')) as [number | null]
  await close()
  // The templates, which are not used, are two thirds of the files that each start copies.
  await database.exec('UPDATE pg_database SET datistemplate = false')
  for (const template of ['template0', 'template1']) await database.exec(`DROP DATABASE ${template}`)
  await database.close()
  if (code !== 0) process.exit(1)
}

interface Listening {
  readonly port: number
  readonly close: () => Promise<void>
}

function listen(database: PGlite, port: number): Promise<Listening> {
  const session = new SharedSession(database)
  const clients = new Map<Socket, Promise<void>>()
  const server = createServer((socket) => {
    clients.set(
      socket,
      serve(socket, session).finally(() => clients.delete(socket)),
    )
  })
  const close = async () => {
    server.close()
    for (const socket of clients.keys()) socket.destroy()
    await Promise.all(clients.values())
  }
  return new Promise((resolve, reject) =>
    server
      .once('error', reject)
      .listen(port, '127.0.0.1', () => resolve({ port: (server.address() as AddressInfo).port, close })),
  )
}

/**
 * The only session. One client at a time has it: for a whole query of several messages, and until its
 * transaction ends. (pglite-socket changes clients after every message, so that their queries mix, and stops
 * permanently at the first failure.)
 */
class SharedSession {
  private holder: Socket | undefined
  private readonly waiting: { socket: Socket; go: () => void }[] = []

  constructor(private readonly database: PGlite) {}

  /** Runs the messages of one query and passes the responses on. */
  async run(socket: Socket, messages: readonly Buffer[]): Promise<void> {
    if (this.holder !== socket) await this.take(socket)
    try {
      for (const [i, message] of messages.entries()) {
        const answered: Buffer[] = []
        await this.database.runExclusive(() =>
          this.database.execProtocolRawStream(message, {
            onRawData: (data) => answered.push(Buffer.from(data)),
          }),
        )
        const answer = Buffer.concat(answered)
        // After an error PGlite reports ready at once, and again at the Sync. A client would read the second
        // report as the response to its next query.
        const early =
          i < messages.length - 1 &&
          answer.length >= READY_BYTES &&
          answer[answer.length - READY_BYTES] === READY
        // The client received this response before PGlite received the query.
        const told = answer[0] === COPY_IN_RESPONSE[0] ? 1 + answer.readInt32BE(1) : 0
        if (socket.writable) socket.write(answer.subarray(told, early ? -READY_BYTES : undefined))
      }
    } finally {
      if (!this.database.isInTransaction()) this.pass()
    }
  }

  /** The client has disconnected: its open transaction is rolled back. */
  async leave(socket: Socket): Promise<void> {
    const place = this.waiting.findIndex((client) => client.socket === socket)
    if (place >= 0) this.waiting.splice(place, 1)
    if (this.holder !== socket) return
    if (this.database.isInTransaction()) await this.database.exec('ROLLBACK')
    this.pass()
  }

  private take(socket: Socket): Promise<void> {
    if (this.holder) return new Promise((go) => this.waiting.push({ socket, go }))
    this.holder = socket
    return Promise.resolve()
  }

  private pass(): void {
    const next = this.waiting.shift()
    this.holder = next?.socket
    next?.go()
  }
}

/** ReadyForQuery: its type byte, and the message with its length. */
const READY = 'Z'.charCodeAt(0)
const READY_BYTES = 6
const SSL_REQUEST = 80_877_103
const CANCEL_REQUEST = 80_877_102
/** Messages that the server answers with ReadyForQuery: Query, Sync, FunctionCall. */
const ENDS_QUERY = new Set(['Q', 'S', 'F'])
/**
 * PGlite cannot request the rows of a COPY from a client: it reads them from the bytes of the query. So the
 * client gets CopyInResponse (as text), and everything is sent to PGlite at once.
 */
const COPY_IN = /^COPY\s[^]*\sFROM\s+STDIN\b/i
const COPY_IN_RESPONSE = Buffer.from([0x47, 0, 0, 0, 7, 0, 0, 0])
/** Bytes of a query that are searched for FROM STDIN. */
const COPY_TEXT = 10_000
/** CopyDone, CopyFail. */
const ENDS_COPY = new Set(['c', 'f'])
/** PGlite has one database, but reports success for CREATE DATABASE, and accepts clients of another one. */
const DATABASE = 'postgres'
const CREATE_DATABASE = /^\s*CREATE\s+DATABASE\b/i
/** With the extended protocol, PGlite would wait for the rows indefinitely and then end. */
const SIMPLE_COPY = 'the embedded database supports COPY FROM STDIN only as a simple query'
const ONE_DATABASE = `the embedded database has only the database ${DATABASE}. For another one, use Postgres with PostGIS.`

/** Database that a client's first message requests: by default, the one with the name of its user. */
function askedDatabase(startup: Buffer): string | undefined {
  const texts = startup.toString('utf8', 8).split('\0')
  const value = (name: string) => texts.find((_, i) => i % 2 === 1 && texts[i - 1] === name)
  return value('database') ?? value('user')
}

/** Message of the protocol: its type byte, its length, and its body. */
function framed(letter: string, body: Buffer): Buffer {
  const head = Buffer.from(`${letter}\0\0\0\0`)
  head.writeInt32BE(4 + body.length, 1)
  return Buffer.concat([head, body])
}

/** ErrorResponse that ends a connection: the database does not exist (3D000). */
function noSuchDatabase(name: string | undefined): Buffer {
  const fields = Buffer.from(
    `SFATAL\0VFATAL\0C3D000\0Mdatabase "${name}" does not exist: ${ONE_DATABASE}\0\0`,
  )
  return framed('E', fields)
}

/** A statement from a client: the part of its text that is examined and, for a Parse, its name. */
interface Statement {
  text: string
  name?: string
}
function statementIn(letter: string, message: Buffer): Statement | undefined {
  if (letter === 'Q') return { text: message.toString('latin1', 5, 5 + COPY_TEXT) }
  if (letter !== 'P') return undefined
  const end = message.indexOf(0, 5)
  return {
    name: message.toString('latin1', 5, end),
    text: message.toString('latin1', end + 1, end + COPY_TEXT),
  }
}

/** Reason for which a statement is refused; undefined if it is not refused. */
function refusalOf({ text, name }: Statement): string | undefined {
  if (CREATE_DATABASE.test(text)) return ONE_DATABASE
  return name !== undefined && COPY_IN.test(text) ? SIMPLE_COPY : undefined
}

/** Message that replaces a refused statement. It fails with this reason, in any state of the transaction. */
function refused(reason: string, { name }: Statement): Buffer {
  const sql = `DO $$ BEGIN RAISE EXCEPTION '${reason}' USING ERRCODE = 'feature_not_supported'; END $$\0`
  const text = Buffer.from(name === undefined ? sql : `${name}\0${sql}\0\0`, 'latin1')
  return framed(name === undefined ? 'Q' : 'P', text)
}

/** Serves one client: collects its messages (Postgres protocol 3.0) into queries, and runs these in order. */
async function serve(socket: Socket, session: SharedSession): Promise<void> {
  let buffered = Buffer.alloc(0)
  let started = false
  let query: Buffer[] = []
  let copies = false
  socket.setNoDelay(true).on('error', () => {})
  try {
    for await (const chunk of socket) {
      buffered = Buffer.concat([buffered, chunk as Buffer])
      for (;;) {
        // The first message has no type byte before its length.
        const head = started ? 1 : 0
        if (buffered.length < head + 4 || buffered.length < head + buffered.readInt32BE(head)) break
        const message = buffered.subarray(0, head + buffered.readInt32BE(head))
        buffered = buffered.subarray(message.length)
        if (!started && message.length === 8 && message.readInt32BE(4) === SSL_REQUEST) {
          socket.write('N')
          continue
        }
        if (!started && message.readInt32BE(4) === CANCEL_REQUEST) return
        const letter = started ? String.fromCharCode(message[0]!) : ''
        if (letter === 'X') return
        if (!started && askedDatabase(message) !== DATABASE) {
          socket.end(noSuchDatabase(askedDatabase(message)))
          return
        }
        const statement = statementIn(letter, message)
        const refusal = statement && refusalOf(statement)
        query.push(refusal === undefined ? message : refused(refusal, statement!))
        if (letter === 'Q' && COPY_IN.test(statement!.text)) {
          copies = true
          socket.write(COPY_IN_RESPONSE)
        }
        if (started && !(copies ? ENDS_COPY : ENDS_QUERY).has(letter)) continue
        started = true
        await session.run(socket, copies ? [Buffer.concat(query)] : query)
        query = []
        copies = false
      }
    }
  } catch (error) {
    // The connection has ended, or Postgres itself failed. Then the connections of waiting clients end.
    if (!socket.destroyed) console.error(error)
  } finally {
    await session.leave(socket)
    // Closes after pending writes, because the client may not have read the reason of a refusal yet.
    socket.destroySoon()
  }
}

main().catch((error: Error) => {
  console.error(error)
  process.exit(1)
})
