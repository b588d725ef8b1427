import type { FastifyBaseLogger } from 'fastify'
import type { Registry } from 'prom-client'
import type { RedisClientType } from 'redis'
import { registerFigures } from './figures'

/** Time limit of a command in milliseconds: a frozen Redis must not block requests. */
const TIMEOUT_MS = 200
/** Interval of pings of an idle connection, in milliseconds. */
const PING_MS = 1_000
/** Number of intervals without a response after which a connection is replaced. */
const SILENT_PINGS = 3

/** Time in milliseconds that a reservation counts if its process ends before the request. */
const RESERVED_MS = 60_000

/** Adds to the reserved units. A reservation that ends after its minute leaves zero, not less. */
const RESERVE = `
  if redis.call('INCRBY', KEYS[1], ARGV[1]) > 0 then redis.call('PEXPIRE', KEYS[1], ARGV[2])
  else redis.call('DEL', KEYS[1]) end`

/** Number of a client's requests in the current window, and the milliseconds left of the window. */
export interface Count {
  current: number
  ttl: number
}

/** A count, and the units reserved in addition to it. */
export interface SharedCount extends Count {
  reserved: number
}

/** Counters and single-use marks that API instances share; undefined: the store is unreachable. */
export interface SharedMarks {
  /** Adds to the counter `key`, whose window starts with its first request. */
  count(key: string, windowMs: number, by?: number): Promise<SharedCount | undefined>
  /** Reserves units of the counter `key` for at most a minute; a negative number ends a reservation. */
  reserve(key: string, units: number): Promise<void>
  /** Marks `key` for `ms`; true for exactly one caller within that time. */
  claim(key: string, ms: number): Promise<boolean | undefined>
}

/**
 * Marks in Redis, which API instances on all machines share. Its methods never throw and never wait long:
 * undefined means that Redis is unreachable. While a command is overdue no other is sent, so that only the
 * requests under way when Redis froze have to wait. A late response or a new connection ends this state.
 */
export class SharedRedis implements SharedMarks {
  private readonly client: RedisClientType
  private overdue = 0
  private answering: boolean | undefined

  /** @param url of Redis 7 or newer @param timeoutMs time limit of a command @param pingMs set in tests */
  constructor(
    url: string,
    private readonly log: FastifyBaseLogger,
    private readonly timeoutMs = TIMEOUT_MS,
    pingMs = PING_MS,
  ) {
    // Loaded only if Redis is configured: the package has 600 files.
    const { createClient } = require('redis') as typeof import('redis') // oxlint-disable-line typescript/no-require-imports -- without waiting
    this.client = createClient({
      url,
      disableOfflineQueue: true,
      commandsQueueMaxLength: 10_000,
      pingInterval: pingMs,
      socket: {
        connectTimeout: 2_000,
        socketTimeout: SILENT_PINGS * pingMs,
        reconnectStrategy: (tries) => Math.min(100 * 2 ** tries, 2_000),
      },
    })
    this.client.on('error', (error: Error) => this.note(false, error.message))
    this.client.on('ready', () => this.note(true, 'connected'))
    this.client.connect().catch(() => {})
  }

  count(key: string, windowMs: number, by = 1): Promise<SharedCount | undefined> {
    return this.ask(async () => {
      const [current, , ttl, reserved] = await this.client
        .multi()
        .incrBy(key, by)
        .pExpire(key, windowMs, 'NX')
        .pTTL(key)
        .get(reservedKey(key))
        .exec()
      return { current: Number(current), ttl: Number(ttl), reserved: Number(reserved) }
    })
  }

  async reserve(key: string, units: number): Promise<void> {
    const given = { keys: [reservedKey(key)], arguments: [String(units), String(RESERVED_MS)] }
    await this.ask(() => this.client.eval(RESERVE, given))
  }

  claim(key: string, ms: number): Promise<boolean | undefined> {
    return this.ask(
      async () =>
        (await this.client.set(key, '1', { condition: 'NX', expiration: { type: 'PX', value: ms } })) !==
        null,
    )
  }

  /** True if Redis answered the last command. */
  get isAnswering(): boolean {
    return this.answering === true
  }

  close(): void {
    this.client.destroy()
  }

  private ask<T>(command: () => Promise<T>): Promise<T | undefined> {
    if (!this.client.isReady || this.overdue > 0) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      let late = false
      const timer = setTimeout(
        // A response may have arrived while this process was busy. It is read before setImmediate runs.
        () =>
          setImmediate(() => {
            if (late || settled) return
            late = true
            this.overdue++
            this.note(false, `no response within ${this.timeoutMs} ms`)
            resolve(undefined)
          }),
        this.timeoutMs,
      )
      let settled = false
      const settle = (value: T | undefined, failure?: Error) => {
        settled = true
        clearTimeout(timer)
        if (late) this.overdue--
        this.note(failure === undefined, failure?.message ?? 'it responds')
        resolve(value)
      }
      command().then(settle, (error: Error) => settle(undefined, error))
    })
  }

  /** Logs only changes of the state. */
  private note(answering: boolean, reason: string): void {
    if (answering === this.answering) return
    this.answering = answering
    if (answering) this.log.info({ reason }, 'Redis is reachable; rate limits are shared')
    else this.log.warn({ reason }, 'Redis is unreachable; rate limits are counted per process')
  }
}

function reservedKey(key: string): string {
  return `${key}:reserved`
}

/** Registers the metric of whether Redis answers, for the process that calls it. */
export function registerRedis(registry: Registry, redis: SharedRedis): void {
  registerFigures(registry, [
    {
      name: 'geospatial_redis_up',
      help: '1 if Redis responded to the last request; otherwise processes count for themselves',
      read: () => (redis.isAnswering ? 1 : 0),
    },
  ])
}
