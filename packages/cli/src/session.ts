// SPDX-License-Identifier: MIT
import { setMaxListeners } from 'node:events'
import { createGeo, type Chain, type Geo } from '@geospatial-attestation/client'
import type { Account, HttpTransport, PublicClient, WalletClient } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { Context, Files } from './context'
import { NoEndpointError, KeyError, UsageError } from './exit'
import { standardInput } from './inputs'
import { readAccount } from './key'
import { fields, jsonLine, paintOf, table, visible, type Field, type Paint } from './output'
import { redraw } from './progress'
import { startWaiting, type Waiting } from './waiting'

/** Options that several commands share. Each command adds its own. */
export interface Options {
  url: string
  attester?: string
  /** by chain id */
  contracts?: Record<number, { eas: string; proxy?: string }>
  json?: boolean
  quiet?: boolean
  /** timeout of the command in seconds; 0 disables it */
  timeout?: number
  /** for questions: the chain for which the answer is signed; for records: a filter */
  chain?: string
  rpc?: string
  keyFile?: string
  passphraseFile?: string
}

/** One run of a command: its options, the service, and its outputs. */
export interface Session<O = object> {
  readonly options: Options & O
  readonly geo: Geo
  readonly paint: Paint
  /** aborts on Ctrl-C and SIGTERM, and after the time of --timeout */
  readonly signal: AbortSignal
  /** Reads standard input; it can be called once. */
  readonly stdin: () => Promise<string>
  readonly context: Context
  readonly at: Files['at']
  /** Writes a line of the result as text; `printJson` writes a value, for --json. */
  readonly print: (line: string) => void
  readonly printFields: (rows: readonly Field[]) => void
  /** Writes a table, whose first row is its head; `right` lists the right-aligned columns. */
  readonly printTable: (rows: readonly (readonly string[])[], right?: readonly number[]) => void
  readonly printJson: (value: unknown) => void
  /** Writes a line about progress or problems to stderr. */
  readonly note: (line: string) => void
  /** Returns the chain of questions: --chain, GEO_CHAIN, or the first chain for which the service signs. */
  readonly chain: () => Promise<Chain>
  /** Returns a client of an RPC endpoint of this chain, after checking its chain id. */
  readonly node: (chain: Pick<Chain, 'id' | 'slug'>) => Promise<PublicClient<HttpTransport>>
  /** Remembers a sent transaction, so that an error can report it; undefined once its result is known. */
  readonly sent: (transactionHash: string | undefined) => void
  /** Returns the account of --key-file, which can sign but not send. */
  readonly account: () => Promise<PrivateKeyAccount>
  /** Returns the account of --key-file, connected to an RPC endpoint of this chain. */
  readonly wallet: (chain: Chain) => Promise<WalletClient & { account: Account }>
}

/** @param interrupt called for a Ctrl-C that a terminal sends as a key */
export function openSession<O extends object>(
  options: Options & O,
  context: Context,
  { at }: Files,
  interrupt: () => void,
): Session<O> & { pending: Waiting['pending']; end: () => void } {
  const { env, stdin, stdout, stderr } = context
  const note = (line: string) => {
    if (!options.quiet) stderr.write(`${stderr.isTTY ? '\r\x1b[K' : ''}${visible(line)}\n`)
  }
  const waiting = startWaiting(
    stderr.isTTY && !options.quiet
      ? (what) => redraw(stderr, what === undefined ? '' : `Waiting for ${visible(what)} ...`)
      : undefined,
  )
  const over = new AbortController()
  const signal = AbortSignal.any([context.signal, over.signal])
  // Each concurrent request to an RPC endpoint adds one, and Node.js warns on stderr from the 11th on.
  setMaxListeners(0, signal)
  const { timeout } = options
  const timer = timeout && setTimeout(() => over.abort(waiting.overtime(timeout)), timeout * 1000).unref()
  const geo = createGeo({
    url: options.url,
    fetch: waiting.fetchOf(`the service at ${options.url}`),
    ...(options.attester && { attester: options.attester }),
    ...(options.contracts && { contracts: options.contracts }),
  })
  let chain: Promise<Chain> | undefined
  let known: Promise<PrivateKeyAccount> | undefined
  const account = () => (known ??= readAccount(options, { env, stdin, stderr, signal, at, interrupt }))
  /** One wallet for each chain, since the transactions of a wallet are sent one after the other. */
  const wallets = new Map<number, ReturnType<typeof connected>>()
  const connected = async (chain: Chain) => {
    // The key is read first, so that no request is sent with an unusable key.
    const key = await account()
    const { transport } = await nodeOf(chain, options.rpc, env, waiting, signal)
    const { createWalletClient } = await import('viem')
    return createWalletClient({ account: key, transport })
  }

  const paint = paintOf(stdout, env)
  const print = (line: string) => void stdout.write(`${paint.line(line)}\n`)
  return {
    ...{ options, geo, signal, note, account, sent: waiting.sent, pending: waiting.pending },
    ...{ context, at, paint, print },
    printFields: (rows) => fields(rows, paint).forEach(print),
    printTable: (rows, right) => {
      const [head, ...lines] = table(rows, right)
      ;[paint.dim(head!), ...lines].forEach(print)
    },
    stdin: standardInput(stdin),
    printJson: (value) => void stdout.write(`${jsonLine(value)}\n`),
    chain: () => (chain ??= chainOfQuestions(geo, options.chain ?? env.GEO_CHAIN, note, signal)),
    node: async (chain) => (await nodeOf(chain, options.rpc, env, waiting, signal)).client,
    wallet: (chain) => {
      const wallet = wallets.get(chain.id) ?? connected(chain)
      wallets.set(chain.id, wallet)
      // A later call connects again: geo mcp runs for long.
      wallet.catch(() => {
        // Another caller may have connected again already: two wallets of one key would use one nonce twice.
        if (wallets.get(chain.id) === wallet) wallets.delete(chain.id)
      })
      return wallet
    },
    end: () => clearTimeout(timer),
  }
}

async function chainOfQuestions(
  geo: Geo,
  named: string | undefined,
  note: (line: string) => void,
  signal: AbortSignal,
): Promise<Chain> {
  if (named) return geo.chain(named, { signal })
  const { chains } = await geo.info({ signal })
  const chain = chains.find(({ ready }) => ready) ?? chains[0]
  if (!chain)
    throw new UsageError(
      `The service at ${geo.url} cannot sign for any chain. Name another service with --url.`,
    )
  const only = chains.length === 1
  note(
    `Chain: ${chain.slug} (${chain.id}), the ${only ? 'only' : 'first'} one of the service${only ? '' : '; --chain selects another'}.`,
  )
  return chain
}

/** Connects to the RPC endpoint of a chain. No message contains its URL, which may include a secret. */
async function nodeOf(
  chain: Pick<Chain, 'id' | 'slug'>,
  option: string | undefined,
  env: NodeJS.ProcessEnv,
  waiting: Waiting,
  signal: AbortSignal,
): Promise<{ client: PublicClient<HttpTransport>; transport: HttpTransport }> {
  const variable = `GEO_RPC_URL_${chain.slug.toUpperCase().replaceAll('-', '_')}`
  const [url, from] = option
    ? [option, '--rpc']
    : env[variable]
      ? [env[variable], variable]
      : [env.GEO_RPC_URL ?? '', 'GEO_RPC_URL']
  if (!url)
    throw new NoEndpointError(
      `This command reads ${chain.slug} directly. Set the URL of an RPC endpoint with --rpc, ` +
        `${variable} or GEO_RPC_URL.`,
    )
  if (!/^https?:/.test(url) || !URL.canParse(url))
    throw new UsageError(
      `${from} is not the URL of an RPC endpoint: expected one such as https://node.example.org`,
    )
  const { createPublicClient, http } = await import('viem')
  const { ConnectionError, messageOf } = await import('@geospatial-attestation/client')
  const fetchFn = waiting.fetchOf(`the RPC endpoint of ${chain.slug}`)
  const client = createPublicClient({ transport: http(url, { fetchFn, fetchOptions: { signal } }) })
  const id = await client.getChainId().catch((error: unknown) => {
    signal.throwIfAborted()
    throw new ConnectionError(
      `The RPC endpoint of ${chain.slug} in ${from} does not respond (${messageOf(error)}). Check ` +
        'its URL, and that it is running.',
    )
  })
  if (id !== chain.id)
    throw new KeyError(
      `${from} is an RPC endpoint of chain ${id}, but ${chain.slug} is chain ${chain.id}. Set it ` +
        `to an RPC endpoint of ${chain.slug}.`,
    )
  // The wallet's transport has no signal: a transaction that is being sent must not be aborted.
  return { client, transport: http(url, { fetchFn }) }
}
