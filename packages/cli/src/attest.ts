// SPDX-License-Identifier: MIT
import { existsSync } from 'node:fs'
import {
  ConnectionError,
  messageOf,
  type AttestOptions,
  type LocationRecord,
  type Place,
  type RevokeOptions,
} from '@geospatial-attestation/client'
import { UsageError } from './exit'
import { createFile } from './files'
import { isUid, parsed, readInput, readSource } from './inputs'
import { jsonLine, time } from './output'
import type { Session } from './session'

export interface AttestFlags {
  memo?: string
  time?: Date
  expiration?: Date
  recipient?: string
  locationType?: string
  schema?: string
  registerSchema?: boolean
  refUid?: string
  unchecked?: boolean
  wait?: boolean
  offchain?: boolean
  output?: string
}

export async function attest(session: Session<AttestFlags>, given: string): Promise<void> {
  const { options, geo, signal, note, paint, at } = session
  const { memo, recipient, locationType, schema, registerSchema, refUid: refUID, unchecked, output } = options
  if (output !== undefined && !options.offchain)
    throw new UsageError('-o requires --offchain: an onchain attestation is not written to a file.')
  if (output !== undefined && existsSync(at(output)))
    throw new UsageError(`'${output}' exists and may be the only copy of an attestation. Name another file.`)
  const place = {
    location: locationType === undefined ? await geojsonOf(session, given) : given.trim(),
    ...{ locationType, memo, recipient },
    ...{ time: options.time, expiration: options.expiration },
  } as Place
  const chain = await session.chain()
  const how: AttestOptions & { offchain?: false } = {
    ...{ chain: chain.id, schema, registerSchema, refUID, unchecked, signal },
    onStep: (step) => {
      if (step.step === 'checked') return
      session.sent(step.transactionHash)
      note(`${step.step === 'sent' ? 'Sent' : 'Registering the schema'}: transaction ${step.transactionHash}`)
    },
  }
  if (options.offchain) {
    // A schema that the client does not know is read from the chain.
    const signer = schema?.startsWith('0x') ? await session.wallet(chain) : await session.account()
    const { uid, attestation } = await geo.attest(place, signer, { ...how, offchain: true })
    if (output === undefined) session.printJson(attestation)
    else
      await createFile(at(output), `${jsonLine(attestation)}\n`).catch((error: unknown) => {
        // A second signature would have another UID.
        session.printJson(attestation)
        throw error
      })
    return note(`Signed: ${uid}${output === undefined ? '' : `, in ${output}`}`)
  }
  const wallet = await session.wallet(chain)
  const attested = await geo.attest(place, wallet, how)
  const { uid, transactionHash, blockNumber, attestation } = attested
  let record: LocationRecord | undefined
  let failure: Error | undefined
  if (options.wait)
    try {
      record = await attested.indexed({ signal })
    } catch (error) {
      const problem = `its record could not be read: ${messageOf(error)}. Do not attest it again.`
      failure = new ConnectionError(
        `The place is attested as ${uid}, by the transaction ${transactionHash}, but ${problem}`,
        { cause: error, transactionHash },
      )
    }
  // The result is printed also after a failure: without it, a script would attest the place again.
  if (options.json) session.printJson({ uid, chainId: chain.id, transactionHash, blockNumber, record })
  else {
    session.print(paint.bold(uid))
    session.printFields([
      ['chain', `${chain.slug} (${chain.id})`],
      ['attester', attestation.attester],
      ['transaction', transactionHash],
      ['block', `${blockNumber}, ${time(Number(attestation.time))}`],
      ['map', `${geo.url}/api/v0/location-records/${uid}?format=html`],
    ])
  }
  if (failure) throw failure
}

async function geojsonOf(session: Session, given: string): Promise<unknown> {
  const input = await readInput(given, session)
  if (typeof input === 'object' && 'type' in input) return input
  throw new UsageError('Expected lng,lat or GeoJSON: an attestation or a private place cannot be attested.')
}

export async function revoke(session: Session, target: string): Promise<void> {
  const { options, geo, signal, note, paint } = session
  const offchain = isUid(target, 'an offchain attestation') ? undefined : await offchainOf(session, target)
  const chain =
    offchain && options.chain === undefined
      ? await geo.chain(offchain.chainId, { signal })
      : await session.chain()
  const wallet = await session.wallet(chain)
  const how: RevokeOptions = {
    ...{ chain: chain.id, signal },
    onStep: ({ transactionHash }) => {
      session.sent(transactionHash)
      note(`Sent: transaction ${transactionHash}`)
    },
  }
  const revoked = await (offchain
    ? geo.revokeOffchain(offchain.source, wallet, how)
    : geo.revoke(target, wallet, how))
  const { uid } = revoked
  if (options.json) return session.printJson(revoked)
  const { revocationTime, already, transactionHash, blockNumber } = revoked
  session.print(paint.bold(uid))
  session.printFields([
    ['chain', `${chain.slug} (${chain.id})`],
    [already ? 'revoked before' : 'revoked', time(revocationTime)],
    ['transaction', transactionHash],
    ['block', blockNumber === undefined ? undefined : String(blockNumber)],
  ])
}

/** Reads the text and the chain of an offchain attestation. Throws a UsageError for any other content. */
async function offchainOf(session: Session, target: string): Promise<{ source: string; chainId: number }> {
  const otherwise = 'Expected a UID (0x and 64 hex digits) or the file of an offchain attestation'
  const source = await readSource(target, session, otherwise)
  const given = (parsed(source) ?? {}) as { sig?: object }
  const { domain } = (given.sig ?? given) as { domain?: { chainId?: unknown } }
  if (!domain?.chainId)
    throw new UsageError(`'${target}' does not contain an offchain attestation. ${otherwise}.`)
  return { source, chainId: Number(domain.chainId) }
}
