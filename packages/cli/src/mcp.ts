// SPDX-License-Identifier: MIT
import { messageOf, UncertainError } from '@geospatial-attestation/client'
import { EXIT, exitCodeOfStop } from './exit'
import { openQuorum } from './quorum'
import type { Session } from './session'

/** Implements `geo mcp`: offers the service as tools for an agent, over stdin and stdout. */
export async function mcp(session: Session<{ quorum?: string }>): Promise<number> {
  const { options, geo, signal, note } = session
  const { stdin, stdout } = session.context
  // An unusable key is reported at the start, not when the first answer lands.
  if (options.keyFile) await session.account()
  const quorum = options.quorum === undefined ? undefined : await openQuorum(session, options.quorum)
  const { serveStdio } = await import('@geospatial-attestation/mcp')
  signal.throwIfAborted()
  const pending = new Set<string>()
  const connection = serveStdio({
    ...{ geo, stdin, stdout, pending, ...(quorum && { quorum }) },
    ...(options.keyFile && { land: session.wallet }),
    onError: (error) => note(`geo: ${messageOf(error)}`),
  })
  signal.addEventListener('abort', () => void connection.close())
  await connection.closed
  if (pending.size > 0) {
    // The error names the transaction (run.ts).
    session.sent([...pending].join(', '))
    signal.throwIfAborted()
    throw new UncertainError('The host disconnected during land_answer.')
  }
  return signal.aborted ? exitCodeOfStop(signal.reason, note) : EXIT.done
}
