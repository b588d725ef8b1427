import pino from 'pino'
import { processSettings } from '../src/config'
import { CURVE } from '../src/eas'
import { Attester, loadSigner } from './attester'
import { ChainReader } from './chain-reader'
import { SafeFetcher } from './fetcher'
import { PublishedGraphql } from './graphql-published'
import { RequestCounter } from './limits'
import { Measurer } from './measure'
import { listenUntilStopped, runProcess } from './process'
import { SharedRedis } from './redis'
import { Resolver } from './resolve'
import { Records } from './search'
import { buildServer } from './server'
import { Store } from './store'
import { PublishedViews } from './store-published'
import { Nonces, WalletTier } from './wallet'

/** The API process: read settings, open, listen; on a signal close in the reverse order. */
async function main(): Promise<void> {
  const settings = processSettings('database', 'chains', 'signer')
  const logger = pino({ level: settings.logLevel, base: undefined })
  const clock = () => Date.now()

  const signer = await loadSigner(settings.readSignerKey!, settings.attesterAddress)
  const attesters = new Map(
    settings.chains.map((connected) => {
      const reader = new ChainReader(connected, clock)
      return [
        connected.chain.id,
        { attester: new Attester(signer, connected, reader, clock), reader },
      ] as const
    }),
  )
  for (const { attester } of attesters.values()) {
    const refusal = await attester.refusal()
    if (refusal) logger.error({ chain: attester.chain.slug, refusal }, 'this chain is not signed for')
    else
      logger.info({ chain: attester.chain.slug, attester: attester.address, library: CURVE.name }, 'signing')
  }

  const store = new Store(settings.databaseUrl, (error) =>
    logger.warn({ reason: error.message }, 'a database connection was lost'),
  )
  const records = new Records(store)
  const views = new PublishedViews(
    settings.graphqlDatabaseUrl ?? settings.databaseUrl,
    (error) => logger.warn({ reason: error.message }, 'a database connection of GraphQL was lost'),
    settings.graphqlDatabaseUrl !== undefined,
  )
  const graphql = new PublishedGraphql(views, logger)
  const redis = settings.redisUrl === undefined ? undefined : new SharedRedis(settings.redisUrl, logger)
  const counter = new RequestCounter(clock, redis)
  const walletTier =
    settings.wallet &&
    new WalletTier({
      ...settings.wallet,
      publicBaseUrl: settings.publicBaseUrl,
      counter,
      nonces: new Nonces(clock, redis),
      clock,
    })
  const measurer = new Measurer()
  const fetcher = settings.offchainUris
    ? new SafeFetcher({
        ipfsGateways: settings.ipfsGateways,
        onRefusal: (where, reason) => logger.debug({ where, reason }, 'a document was not fetched'),
      })
    : undefined
  const app = await buildServer({
    store,
    records,
    measurer,
    attesters,
    clock,
    logger,
    resolver: new Resolver({ store, measurer, clock, fetcher, ...settings }),
    counter,
    graphql,
    ...(walletTier && { walletTier }),
    ...settings,
  })

  await listenUntilStopped(app, settings, '', async () => {
    await Promise.all([measurer.close(), records.close()])
    redis?.close()
    await graphql.close()
    await store.close()
  })
  // In the background: nothing else needs it.
  void graphql.start()
}

runProcess(main)
