import { html, joined, type Html } from './html'
import { anchor, list, type Page, page } from './pages'
import { COMPUTE_ERRORS, type ComputeErrorKind } from '../../src/errors'

export interface ErrorPage {
  meaning: string
  causes: readonly string[]
  remedies: readonly string[]
}

export const ERROR_PAGES: Readonly<Record<ComputeErrorKind, ErrorPage>> = {
  'invalid-input': {
    meaning: 'The request is invalid, so nothing was computed or signed. The same request will fail again.',
    causes: [
      'A field is missing or misspelt, or has the wrong type.',
      'A geometry is malformed, out of range (positions are [longitude, latitude]), or a polygon ' +
        'whose inside is ambiguous, such as one with a ring that crosses itself.',
      'The attestation of a UID is revoked or expired, its schema is not a location schema, or its ' +
        'geometry is ambiguous.',
      'The chain is not supported, or cannot be signed for at the moment; or the schema is not ' +
        'registered on the chain, or its types differ from those of the result.',
      'The API has no endpoint with this path and method.',
      'The request has more than 100 headers, or more than 16 KiB of them (status 431).',
    ],
    remedies: [
      'Read `detail`: it names the field and the expected value.',
      '/docs lists every field of every request. Programs read the chains that can be signed for at GET /.',
    ],
  },
  'attestation-not-found': {
    meaning:
      'No attestation has this UID on the chain of `chainId`. The service looked on the chain ' +
      'itself, not only in its index.',
    causes: [
      'The attestation is on another chain. `detail` names the chain if this service has ' +
        'indexed the attestation.',
      'Its transaction is not in a block yet, or was removed by a reorg.',
      'The UID is that of an offchain attestation. Send the attestation itself, or its URI.',
    ],
    remedies: [
      'Compare chainId with the chain on which the attestation was made.',
      'After attesting, wait until the transaction is in a block, then retry.',
      'For an offchain attestation, send {"uid", "uri"} or {"attestation"} instead of the UID alone.',
    ],
  },
  'verification-failed': {
    meaning: 'A signature could not be verified, so the signed content was not used. Nothing was signed.',
    causes: [
      'An offchain attestation was changed after it was signed, or does not match its UID, signer, ' +
        'chain or contract.',
      'An offchain attestation has expired, is dated in the future, or was revoked by its signer.',
      'The document at a `uri` is not the attestation of the given UID.',
      'The signature of a signed request is not by the wallet that the request names.',
    ],
    remedies: [
      "Send the attestation exactly as the signer's software wrote it, including salt, domain and signature.",
      'Ask the signer for a valid attestation for this chain.',
    ],
  },
  'computation-error': {
    meaning: 'The request is valid, but the service could not compute the answer. Nothing was signed.',
    causes: [
      "The database or the chain's RPC endpoint is unreachable. The response then has the header Retry-After.",
      'The geometries are so complex that measuring them exceeds the time limit.',
      'The service has a fault, which was logged.',
    ],
    remedies: [
      'With Retry-After: send the same request again after that many seconds.',
      'If `detail` names a time limit, simplify the geometries.',
      'GET /ready shows which part is unavailable. If the error persists, report it to the ' +
        'operator with the time of the request.',
    ],
  },
  'rate-limited': {
    meaning: 'Your IP address has exceeded the number of requests per hour. Nothing was computed.',
    causes: [
      'Too many requests within an hour. Failed requests count, too.',
      "Other clients share your IP address, for example behind a company's gateway. An IPv6 " +
        'network (/64) counts as one address.',
    ],
    remedies: [
      'Wait for the number of seconds in the header Retry-After.',
      'Every response has the number of requests left in RateLimit-Remaining, and the seconds ' +
        'until the hour ends in RateLimit-Reset.',
      'Store answers: POST /compute/v0/resign re-signs an answer whose nonce was used, without a ' +
        'new computation.',
    ],
  },
}

/** Returns the slug of an error; undefined for any other text. */
export function errorSlug(text: string): ComputeErrorKind | undefined {
  return Object.hasOwn(ERROR_PAGES, text) ? (text as ComputeErrorKind) : undefined
}

export function errorPageJson(slug: ComputeErrorKind, publicBaseUrl: string) {
  const { status, title } = COMPUTE_ERRORS[slug]
  const { meaning, causes, remedies } = ERROR_PAGES[slug]
  return { type: `${publicBaseUrl}/errors/${slug}`, title, status, meaning, causes, remedies }
}

export function errorPageHtml(slug: ComputeErrorKind, publicBaseUrl: string): Page {
  const { type, title, status, meaning, causes, remedies } = errorPageJson(slug, publicBaseUrl)
  return page(
    title,
    [],
    html`<p class="note">Status ${status}, <code>${type}</code></p>
<p>${withCode(meaning)}</p>
<h2>What causes it</h2>
${list(causes.map(withCode))}
<h2>What to do</h2>
${list(remedies.map(withCode))}
<p>${anchor(`${publicBaseUrl}/docs`, 'API documentation')}</p>`,
  )
}

/** Text in which names between backticks are code. */
function withCode(text: string): Html {
  return joined(
    text.split('`').map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : html`${part}`)),
    '',
  )
}
