import { useState } from 'preact/hooks'
import { say } from '../messages'
import { CID, linkOf } from './media-link'

/** Media of a record. Anyone can attest media: they are hostile, and nothing is loaded from other servers. */

/** Media types of pictures that browsers show without running scripts. */
const PICTURES = /^image\/(png|jpeg|gif|webp|avif)$/i
const DATA_URL = /^data:(image\/[a-z]+);base64,([A-Za-z0-9+/=\s]+)$/i
const BASE64 = /^[A-Za-z0-9+/\s]+={0,2}$/
/** Maximum number of characters of a shown picture. For a larger one, only the size is shown. */
const MOST = 8_000_000
const SHOWN = 300

export function Media({ types, data }: { types: readonly string[]; data: readonly string[] }) {
  return (
    <ul class="media">
      {data.map((each, i) => (
        <li key={i}>
          <Medium type={types[i] ?? ''} data={each} />
        </li>
      ))}
    </ul>
  )
}

function Medium({ type, data }: { type: string; data: string }) {
  const [isDamaged, setDamaged] = useState(false)
  const picture = isDamaged ? undefined : pictureOf(type, data)
  const link = linkOf(data)
  return (
    <>
      {picture ? (
        <img src={picture} alt={say.media.picture(type)} loading="lazy" onError={() => setDamaged(true)} />
      ) : link ? (
        <a href={link} rel="noreferrer noopener nofollow" target="_blank">
          <bdi>{link.slice(0, SHOWN)}</bdi>
        </a>
      ) : (
        <bdi class="attested">
          {data.slice(0, SHOWN)}
          {data.length > SHOWN && say.media.characters(data.length)}
        </bdi>
      )}{' '}
      <span class="soft">
        <bdi>{type.slice(0, 100)}</bdi>
        {link && say.media.external}
      </span>
    </>
  )
}

/** Picture as a data: URL; undefined if it is not a picture. */
function pictureOf(type: string, data: string): string | undefined {
  if (data.length > MOST) return undefined
  const [, ownType, base64] = DATA_URL.exec(data) ?? []
  if (ownType) return PICTURES.test(ownType) ? `data:${ownType};base64,${base64}` : undefined
  return PICTURES.test(type) && data.length > 40 && !CID.test(data) && BASE64.test(data)
    ? `data:${type};base64,${data}`
    : undefined
}
