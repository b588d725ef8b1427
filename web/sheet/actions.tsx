import type { Chain } from '@geospatial-attestation/client'
import type { Geometry } from 'geojson'
import { useState } from 'preact/hooks'
import { chainName } from '../chains'
import { copyText } from '../copy-button'
import { titleText } from '../explorer/words'
import { useLoaded } from '../loading'
import { goTo } from '../location'
import { say } from '../messages'
import { handed } from '../panel/handed'
import { textOf } from '../panel/input'
import { addressOf, geo } from '../service'
import { WithSigner } from '../wallet'
import { useAccounts } from '../wallet/accounts'
import { stateOf } from '../wallet/chain'
import { localNodes, testAccount } from '../wallet/nodes'
import type { Full } from './full'

/** Maximum number of characters of a geometry in a link. Proxies reject much longer URLs. */
const LONGEST_GEOMETRY = 4_000
const COPIED_MS = 2_000

interface ActionsProps extends Full {
  /** moves the map to the place; undefined if there is no map */
  onShow: ((geometry: Geometry) => void) | undefined
  onWatch: () => void
  /** called when the record was revoked */
  onChanged: () => void
}
/** Buttons and links for actions with a place. */
export function Actions({ record, details, onShow, onWatch, onChanged }: ActionsProps) {
  const { chain, uid } = record
  const { actions } = say
  const ask = (parameters: Record<string, string>) =>
    addressOf(`playground?${new URLSearchParams({ ...parameters, chain })}`)
  const geometry = details?.geometry
  return (
    <section aria-label={actions.name} class="actions">
      <p class="card-actions">
        {!record.revoked && geometry && (
          <>
            <a class="button" href={ask({ op: 'distance', a: uid })}>
              {actions.measure}
            </a>
            <a class="button plain" href={ask({ op: 'contains', b: uid })}>
              {actions.inside}
            </a>
          </>
        )}
        {geometry && <AttestHere record={record} geometry={geometry} />}
        {onShow && geometry && (
          <button type="button" onClick={() => onShow(geometry)}>
            {actions.zoom}
          </button>
        )}
        <button type="button" onClick={onWatch}>
          {actions.watch}
        </button>
        <Share record={record} />
      </p>
      {details?.revocable && !record.revoked && <Revoke record={record} onRevoked={onChanged} />}
    </section>
  )
}

/** Opens the form that attests a place, with this place: by a link, if the place is short enough for one. */
function AttestHere({ record, geometry }: Pick<Full, 'record'> & { geometry: Geometry }) {
  const { chain } = record
  const text = textOf(geometry)
  const addressWith = (parameters: Record<string, string>) =>
    addressOf(`attest?${new URLSearchParams({ ...parameters, chain })}`)
  if (text.length <= LONGEST_GEOMETRY)
    return (
      <a class="button plain" href={addressWith({ place: text })}>
        {say.actions.attest}
      </a>
    )
  const hand = () => {
    if (goTo(addressWith({}))) handed.value = { name: titleText(record), text }
  }
  return (
    <button type="button" onClick={hand}>
      {say.actions.attest}
    </button>
  )
}

/** Shares the URL of the place by the device's dialog, copies it, or shows it if copying is refused. */
function Share({ record }: Pick<Full, 'record'>) {
  const [isCopied, setCopied] = useState<boolean>()
  const url = addressOf(`r/${record.chain}/${record.uid}`)
  const share = async () => {
    if (navigator.share && matchMedia('(pointer: coarse)').matches) {
      // The user closed the dialog (AbortError), or the browser has none for this page, as within some apps.
      const isOffered = await navigator.share({ title: titleText(record), url }).then(
        () => true,
        ({ name }: Error) => name === 'AbortError',
      )
      if (isOffered) return
    }
    const isDone = await copyText(url)
    setCopied(isDone)
    if (isDone) setTimeout(() => setCopied(undefined), COPIED_MS)
  }
  return (
    <>
      <button type="button" data-share={url} onClick={() => void share()}>
        <span aria-live="polite">{isCopied ? say.actions.copied : say.actions.share}</span>
      </button>
      {isCopied === false && (
        <span role="alert">
          <label>
            {say.actions.notCopied}{' '}
            <input readOnly value={url} onFocus={({ currentTarget }) => currentTarget.select()} />
          </label>
        </span>
      )}
    </>
  )
}

function Revoke({ record, onRevoked }: Pick<Full, 'record'> & { onRevoked: () => void }) {
  const [isDone, setDone] = useState(false)
  const accounts = useAccounts()
  const key = ['owner', record.chain, record.prover, ...accounts].join(' ')
  const { data: chain } = useLoaded(key, () => ownChain(record.chain, record.prover, accounts))
  if (isDone) return <p role="status">{say.actions.revokedNow}</p>
  if (!chain) return null
  return (
    <details class="revoke">
      <summary>{say.actions.revoke}</summary>
      <p class="soft">{say.actions.revoking}</p>
      <WithSigner
        chain={chain}
        verb={`${say.actions.revoke} (${chainName(record.chain)})`}
        act={async (signer) => {
          await geo.revoke(record.uid, signer, { chain: chain.id })
          setDone(true)
          onRevoked()
        }}
      />
    </details>
  )
}

/** Chain of the record, if the attester is one of the accounts or a test account; otherwise undefined. */
async function ownChain(
  slug: string,
  attester: string,
  accounts: readonly string[],
): Promise<Chain | undefined> {
  const chain = await geo.chain(slug).catch(() => undefined)
  if (!chain) return undefined
  const node = (await localNodes())[chain.id]
  const test = node === undefined ? undefined : await stateOf(testAccount(node)).catch(() => undefined)
  const isOwn = [...accounts, test?.account].some(
    (account) => account?.toLowerCase() === attester.toLowerCase(),
  )
  return isOwn ? chain : undefined
}
