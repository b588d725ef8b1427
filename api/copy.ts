import { stopTracing } from '../src/tracing'
import '../src/chains-file'
import cluster from 'node:cluster'
import path from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { leaveOutExplorers, rpcLimits } from '../src/chains'
import { MONOTONIC } from '../src/clock'
import { SettingsError, isLoopback, processSettings, type Settings } from '../src/config'
import { CURVE } from '../src/eas'
import { retry } from '../src/retry'
import { addLocationSchemas } from '../src/location'
import { openLog } from '../src/log'
import { answerGroupsQuery, noteAttesters } from './answers'
import { Attester, loadIdentity, Measurer, Resolver } from './compute'
import { ChainReader, WalletTier } from './contracts'
import { PublishedGraphql, PublishedViews } from './graphql'
import { RequestCounter } from './http/limits'
import { PrimaryProcess, redisOf } from './copies'
import { listenUntilStopped, runProcess } from './process'
import { Nonces } from './http/nonces'
import { loadIpfs, SafeFetcher, SafeSender } from './outgoing'
import { readKeyOfLog, readPolicyFile, SignatureLog } from './log'
import { ColumnarFiles } from './formats'
import { RecordSearch } from './query'
import { recordGroupsQuery } from './records'
import { Store } from './store'
import { buildServer } from './server'
import { readManual } from './service'
import { Pages } from './web'
import { Deliverer, readWebhooksFile, WebhookStore } from './webhooks'

const NO_IPFS =
  'OFFCHAIN_URIS: the optional packages that read IPFS are not installed. Install with `npm ci` (in Docker: --build-arg OMIT=--omit=dev), or set true instead of gateways.'

/** Retries for the database reads of webhooks at the start: every second until the database answers. */
const UNTIL_ANSWERED = { attempts: Infinity, pauseMs: () => 1_000 }

/** A complete API that does not listen yet. */
export interface Api {
  readonly app: FastifyInstance
  /** Starts the background work, once the API listens. */
  readonly start: () => void
  /** Releases the parts of the app, after the app is closed. */
  readonly close: () => Promise<void>
}

/** Runs one process of the API: opens it and listens. On a signal, closes its parts in reverse order. */
export async function serve(settings: Settings): Promise<void> {
  const { app, start, close } = await openApi(settings, openLog(settings.logLevel))
  await listenUntilStopped(app, settings, { host: 'HOST', port: 'PORT' }, async () => {
    await close()
    await stopTracing()
  })
  start()
}

/**
 * Builds the API for these settings. Throws a SettingsError if they cannot be applied.
 * @param clock Unix milliseconds, for timestamps
 */
export async function openApi(settings: Settings, logger: Logger, clock = () => Date.now()): Promise<Api> {
  addLocationSchemas(settings.locationSchemas)
  const localNodes = localNodesOf(settings)
  leaveOutExplorers(Object.keys(localNodes).map(Number))

  const closing = new AbortController()
  const onLoss = warnOfLoss(logger, 'a database connection was lost')
  const store = new Store(settings.databaseUrl, onLoss, {}, settings.databaseReadUrls)
  const log = await logOf(settings, store, logger, clock)
  const attesters = await connectAttesters(settings, logger, clock, log)
  const records = new RecordSearch(store)
  const columnarFiles = new ColumnarFiles(settings.exportDiskBytes)
  const views = new PublishedViews(
    settings.graphqlDatabaseUrl ?? store.servers,
    warnOfLoss(logger, 'a database connection of GraphQL was lost'),
    settings.graphqlDatabaseUrl !== undefined,
  )
  const graphql = new PublishedGraphql(views, logger, {
    locationRecordGroups: recordGroupsQuery({ store, records }),
    answerGroups: answerGroupsQuery(store),
  })
  const primary = cluster.isWorker ? new PrimaryProcess() : undefined
  const redis = primary ? undefined : redisOf(settings, logger)
  const shared = primary ?? redis
  const counter = new RequestCounter(MONOTONIC.now, shared)
  const { indexMaxAgeSeconds, maxLagSeconds, smartAccounts, schemaPolicy } = settings
  const walletTier = walletTierOf(settings, attesters, counter, new Nonces(MONOTONIC.now, shared), clock)
  const measurer = new Measurer()
  const resolver = new Resolver({
    ...{ store, measurer, clock, maxLagSeconds, fetcher: await fetcherOf(settings, logger) },
    ...{ indexMaxAgeSeconds, smartAccounts, schemaPolicy },
  })
  const webhooks = delivererOf(settings, store, logger)
  const app = await buildServer({
    ...serverSettings(settings),
    ...{ store, records, columnarFiles, measurer, attesters, resolver, counter, graphql, walletTier, redis },
    ...{ clock, logger, log },
    limits: {
      ...{ indexMaxAgeSeconds, maxLagSeconds },
      // Without an RPC endpoint, it is unknown if the chain is local.
      isLocal: ({ id }) => attesters.get(id)?.reader.wasLocal ?? true,
    },
    webhooks: webhooks.deliverer,
    webhookAdmin: webhooks.admin,
    figuresOfCopies: primary && (() => primary.figures()),
    pages: Pages.in(path.join(__dirname, '../web'), localNodes, settings.basemap),
    manual: readManual(path.join(__dirname, '../../docs')),
  })

  return {
    app,
    start: () => {
      // Runs in the background, because the other APIs do not depend on it.
      void graphql.start()
      void store.awaitMigrations(logger, closing.signal).catch(() => {})
      void noteAttesters(store.servers, attesters.values(), logger, closing.signal)
      void webhooks.start()
      log?.start()
    },
    close: async () => {
      closing.abort()
      await Promise.all([webhooks.deliverer?.stop(), log?.stop()])
      await Promise.all([measurer.close(), records.close(), columnarFiles.close()])
      shared?.close()
      await graphql.close()
      await store.close()
      for (const { reader } of attesters.values()) reader.close()
    },
  }
}

/** Settings by the server's names for them. The server receives no secrets. */
function serverSettings(settings: Settings) {
  const names = [
    ...(['publicBaseUrl', 'chains', 'deploymentName', 'trustProxy', 'rateLimitPerHour'] as const),
    ...(['recordsRateLimitPerHour', 'tileCacheBytes', 'pageCacheBytes', 'defaultSchemas'] as const),
    ...(['defaultSubmission', 'deadlineSeconds', 'resignMaxAgeSeconds'] as const),
  ]
  return Object.fromEntries(names.map((name) => [name, settings[name]])) as Pick<
    Settings,
    (typeof names)[number]
  >
}

/** Rate limits of requests that a wallet signs; undefined if the settings have none. */
function walletTierOf(
  { wallet, publicBaseUrl, maxLagSeconds, smartAccounts }: Settings,
  attesters: Awaited<ReturnType<typeof connectAttesters>>,
  counter: RequestCounter,
  nonces: Nonces,
  clock: () => number,
): WalletTier | undefined {
  if (!wallet) return undefined
  const readers = smartAccounts ? [...attesters].map(([id, { reader }]) => [id, reader] as const) : []
  return new WalletTier({
    ...wallet,
    ...{ publicBaseUrl, counter, nonces, clock, maxLagSeconds },
    smartAccounts: new Map(readers),
  })
}

/** Creates the deliverer of webhooks. Throws a SettingsError if the settings file is not a list. */
function delivererOf({ webhooks }: Settings, store: Store, logger: Logger) {
  const rows = new WebhookStore(store.servers)
  if (!webhooks) return { start: () => warnOfSilence(rows, logger) }
  const sender = new SafeSender(new Set(webhooks.privateHosts))
  const { subscriptions, refused } =
    webhooks.file === undefined ? { subscriptions: [], refused: [] } : readWebhooksFile(webhooks.file, sender)
  for (const { id, problem } of refused)
    logger.error(
      { subscription: id, problem },
      'an entry of WEBHOOKS_FILE has an error; its subscription is unchanged',
    )
  const kept = refused.flatMap(({ id }) => id ?? [])
  const deliverer = new Deliverer(store, rows, sender, logger)
  const start = () =>
    retry(() => rows.setFile(subscriptions, kept), {
      ...UNTIL_ANSWERED,
      onFailure: ({ message }, attempt) => {
        if (attempt === 1)
          logger.warn({ reason: message }, 'could not store the subscriptions of WEBHOOKS_FILE yet')
      },
    }).then(() => deliverer.start())
  const admin = webhooks.readAdminKey && { webhooks: rows, sender, adminKey: webhooks.readAdminKey() }
  return { deliverer, start, admin }
}

/** Warns if stored subscriptions exist but webhooks are off: nothing is sent, and no error would show it. */
async function warnOfSilence(rows: WebhookStore, logger: Logger): Promise<void> {
  const { active, failing } = await retry(() => rows.counts(), UNTIL_ANSWERED)
  if (active + failing > 0)
    logger.warn(
      { subscriptions: active + failing },
      'webhook subscriptions exist, but this process does not deliver them: set WEBHOOKS_FILE or ADMIN_KEY',
    )
}

/** Local nodes that pages may call, by chain id; empty unless the settings enable them. */
function localNodesOf({ localNodes, chains }: Settings): Record<number, string> {
  const reached = chains.flatMap(({ chain, rpcUrls }) =>
    rpcUrls.filter(isLoopback).map((url) => [chain.id, url] as const),
  )
  return Object.fromEntries(localNodes ? reached : [])
}

/** Creates the transparency log, unless it is off. Throws a SettingsError for an invalid key or policy. */
async function logOf(
  { log, readLogKey, publicBaseUrl }: Settings,
  store: Store,
  logger: Logger,
  clock: () => number,
): Promise<SignatureLog | undefined> {
  if (log === false) return undefined
  const policy = log === true ? undefined : readPolicyFile(log)
  const hosts = [...(policy?.witnesses.values() ?? [])].map(({ url }) => new URL(url!).host)
  return new SignatureLog({
    ...{ servers: store.servers, publicBaseUrl, policy, clock, logger },
    key: readLogKey && (await readKeyOfLog(readLogKey)),
    sender: new SafeSender(new Set(hosts)),
  })
}

/** Connects the signer of each chain, by chain id, and logs which chains the API can sign for. */
async function connectAttesters(
  settings: Settings,
  logger: Logger,
  clock: () => number,
  log: SignatureLog | undefined,
) {
  const identity = await loadIdentity(settings, logger)
  const attesters = new Map(
    settings.chains.map((connected) => {
      const reader = new ChainReader(connected, clock, rpcLimits(connected.chain).batchSize)
      return [
        connected.chain.id,
        { attester: new Attester(identity, connected, reader, log), reader },
      ] as const
    }),
  )
  for (const { attester, reader } of attesters.values()) {
    await reader.isLocal()
    const chain = attester.chain.slug
    const refusal = await attester.direct.refusal()
    if (refusal) logger.error({ chain, refusal }, 'answers for this chain cannot be signed')
    else
      logger.info(
        { chain, attester: attester.address, signer: settings.signer!.kind, library: CURVE.name },
        'signing',
      )
    const { proxy } = attester
    if (!proxy) continue
    const reason = await proxy.refusal()
    if (reason)
      logger.error({ chain, proxy: proxy.address, reason }, 'answers for this proxy cannot be signed')
    else logger.info({ chain, proxy: proxy.address }, 'answers for this proxy can be signed')
  }
  return attesters
}

/** Creates the fetcher of offchain documents. Throws a SettingsError if the packages of IPFS are missing. */
async function fetcherOf(
  { offchainGateways: ipfsGateways }: Pick<Settings, 'offchainGateways'>,
  logger: Logger,
): Promise<SafeFetcher | undefined> {
  if (!ipfsGateways) return undefined
  if (ipfsGateways.length)
    await loadIpfs().catch((cause: { code?: string }) => {
      if (!cause.code?.endsWith('MODULE_NOT_FOUND')) throw cause
      throw new SettingsError(NO_IPFS, { cause })
    })
  return new SafeFetcher({
    ipfsGateways,
    onRefusal: (where, reason) => logger.debug({ where, reason }, 'could not fetch a document'),
  })
}

function warnOfLoss(logger: Logger, message: string) {
  return (error: Error) => logger.warn({ reason: error.message }, message)
}

if (cluster.isWorker) runProcess(() => serve(processSettings('database', 'chains', 'signer')))
