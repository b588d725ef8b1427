import { html } from './html'
import { anchor, list, type Page, page } from './pages'
import { COMPUTE_ERRORS, type ComputeErrorKind } from '../../src/errors'

/** Page that the `type` of an error links to: its meaning, its causes, and remedies. */
export interface ErrorPage {
  meaning: string
  causes: readonly string[]
  remedies: readonly string[]
}

/** One page for every error of the Compute API. */
export const ERROR_PAGES: Readonly<Record<ComputeErrorKind, ErrorPage>> = {
  'invalid-input': {
    meaning:
      'The request itself is not right, so nothing was computed and nothing was signed. The same request will be refused again.',
    causes: [
      'A field is missing, misspelt, or of another type than asked for.',
      'A geometry is malformed, out of range (positions are [longitude, latitude]), or a polygon without a certain inside: a ring that crosses itself, for example.',
      'The attestation that a UID names is revoked, expired, of a schema that holds no location, or without a geometry that can be read for certain.',
      'The chain is not served, or cannot be signed for at the moment; or the schema is not registered there, or has other types than the result.',
      'The address or the method of the request is not one of this API.',
      'The head of the request has more than 100 headers or 16 KiB: the status is 431 then.',
    ],
    remedies: [
      'Read detail: it names the field and says what would be right.',
      'GET / lists the chains that can be signed for, and /docs every field of every request.',
    ],
  },
  'attestation-not-found': {
    meaning:
      'There is no attestation with this UID on the chain that chainId names. The chain itself was asked, not only the index.',
    causes: [
      'The attestation lies on another chain. `detail` names it if this service has read the attestation there.',
      'Its transaction is not mined yet, or was dropped by a reorganisation of the chain.',
      'The UID is that of an offchain attestation: those must be handed over, or be linked to.',
    ],
    remedies: [
      'Compare chainId with the chain on which the attestation was made.',
      'After attesting, wait until the transaction is in a block, then ask again.',
      'For an offchain attestation give {"uid", "uri"} or {"attestation"} in place of the bare UID.',
    ],
  },
  'verification-failed': {
    meaning: 'A signature does not hold, so what it vouches for was not used. Nothing was signed.',
    causes: [
      'An offchain attestation was changed after it was signed, or its UID, signer, chain or contract is not the one it claims.',
      'An offchain attestation is expired, dated in the future, or was revoked by its signer.',
      'The document behind a uri is not the attestation whose UID was asked for.',
      "A request signed by a wallet carries a signature that is not that wallet's.",
    ],
    remedies: [
      "Hand over the attestation exactly as its signer's software wrote it, salt, domain and signature included.",
      'Ask the signer for one that is made for this chain and still stands.',
    ],
  },
  'computation-error': {
    meaning:
      'The request was understood, but this service could not answer it. Nothing was signed, and no allowance of yours is at fault.',
    causes: [
      "The database or the chain's node is out of reach: the answer then carries Retry-After.",
      'The geometries are so entangled that measuring them takes longer than is allowed.',
      'A fault of ours, which was logged.',
    ],
    remedies: [
      'With Retry-After: send the same request again after that many seconds.',
      'When detail speaks of the time it takes: simplify the geometries.',
      'GET /ready tells which part is out of reach. If it stays, tell whoever runs this deployment, with the time of the request.',
    ],
  },
  'rate-limited': {
    meaning: 'More requests came from your address within an hour than are allowed. Nothing was computed.',
    causes: [
      'Many requests within the hour: refused ones count too.',
      "Others share your address, behind one company's gateway for example. An IPv6 network (/64) counts as one address.",
    ],
    remedies: [
      'Wait as long as Retry-After says, in seconds.',
      'Every answer says in RateLimit-Remaining how many requests are left, and in RateLimit-Reset in how many seconds the hour ends.',
      'Keep answers: one whose nonce another answer has taken is signed again by POST /compute/v0/resign, without being computed again.',
    ],
  },
}

/** Returns the slug of an error; undefined for any other text. */
export function errorSlug(text: string): ComputeErrorKind | undefined {
  return Object.hasOwn(ERROR_PAGES, text) ? (text as ComputeErrorKind) : undefined
}

/** Returns the page as data. */
export function errorPageJson(slug: ComputeErrorKind, publicBaseUrl: string) {
  const { status, title } = COMPUTE_ERRORS[slug]
  const { meaning, causes, remedies } = ERROR_PAGES[slug]
  return { type: `${publicBaseUrl}/errors/${slug}`, title, status, meaning, causes, remedies }
}

/** Returns the page as HTML for browsers. */
export function errorPageHtml(slug: ComputeErrorKind, publicBaseUrl: string): Page {
  const { type, title, status, meaning, causes, remedies } = errorPageJson(slug, publicBaseUrl)
  return page(
    title,
    [],
    html`<p class="note">Status ${status}, <code>${type}</code></p>
<p>${meaning}</p>
<h2>What causes it</h2>
${list(causes)}
<h2>What to do</h2>
${list(remedies)}
<p>${anchor(`${publicBaseUrl}/docs`, "The API's documentation")}</p>`,
  )
}
