// SPDX-License-Identifier: MIT
import { duration } from './output'
import { filtersOf } from './records'
import type { Session } from './session'

export async function chains(session: Session): Promise<void> {
  const { options, geo, signal } = session
  const [{ chains, defaultSubmission }, { chains: copies }] = await Promise.all([
    geo.info({ signal }),
    geo.ready({ signal }),
  ])
  const all = chains.map(({ abi: _, proxy, ...chain }) => {
    const { status, lag_blocks = null, lag_seconds = null } = copies?.[chain.slug] ?? {}
    return {
      ...chain,
      proxy: proxy && { address: proxy.address, ready: proxy.ready },
      records: status === undefined ? null : { status, lag_blocks, lag_seconds },
    }
  })
  if (options.json) return session.printJson({ defaultSubmission, chains: all })
  session.printTable(
    [
      ['CHAIN', 'ID', 'SIGNS', 'RECORDS', 'BEHIND', 'ATTESTER', 'PROXY'],
      ...all.map(({ slug, id, ready, reason, attester, proxy, records }) => [
        ...[slug, String(id), ready ? 'yes' : `no: ${reason ?? 'not ready'}`],
        records?.status ?? '-',
        records?.lag_seconds == null ? '-' : duration(Math.max(0, records.lag_seconds)),
        ...[attester, proxy ? `${proxy.address}${proxy.ready ? '' : ' (not ready)'}` : '-'],
      ]),
    ],
    [1, 4],
  )
}

export interface OpenFlags {
  bbox?: string
}

/** Prints the URL of a page with a map, and opens it if there is a display. */
export async function openPage(session: Session<OpenFlags>, uid?: string): Promise<void> {
  const { geo, print, note, signal, context } = session
  const { chain, bbox } = await filtersOf(session)
  const page = new URL(`${geo.url}/api/v0/location-records${uid ? `/${encodeURIComponent(uid)}` : ''}`)
  page.searchParams.set('format', 'html')
  if (chain) page.searchParams.set('chain', chain)
  if (bbox && !uid) page.searchParams.set('bbox', bbox)
  // Reports an error here that the browser would only display.
  await (uid ? geo.records.get(uid, { chain, signal }) : geo.health({ signal }))
  print(page.href)
  if (!hasDisplay(context.env, process.platform))
    return note('There is no display. Open the URL in a browser.')
  const { default: open } = await import('open')
  // The browser inherits the environment of the process.
  const browser = await open(page.href)
  browser.on('error', () => note('Could not start a browser. Open the URL yourself.'))
}

/** Returns true if a browser that is started here would be visible. */
function hasDisplay(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): boolean {
  if (env.SSH_CONNECTION && !env.DISPLAY) return false
  return platform !== 'linux' || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY || env.WSL_DISTRO_NAME)
}
