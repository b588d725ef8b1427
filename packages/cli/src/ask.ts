// SPDX-License-Identifier: MIT
import type { Answer, Chain, Input, Question, Submission } from '@geospatial-attestation/client'
import { rowOf, UNITS, type OperationName, type UnitName } from '../../../src/operations/table'
import { readInput } from './inputs'
import { landedFields, landedJson, landOrKeep } from './land'
import { distanceInTime, grouped, time, type Field } from './output'
import { isPrivate, keepPrivate, makePrivate } from './private'
import type { Session } from './session'

/** Implements `geo distance` and the other operations: prints the signed answer, and lands it with --land. */

export interface AskFlags {
  recipient?: string
  schema?: string
  submission?: Submission
  land?: boolean
}
interface QuestionFlags extends AskFlags {
  private?: string[]
  quorum?: string
}

export async function ask(
  session: Session<QuestionFlags>,
  operation: OperationName,
  /** arguments of the places, in order */
  given: readonly string[],
  numbers: readonly number[],
): Promise<void> {
  const { options, geo, signal } = session
  const { inputs: places, parameters = [] } = rowOf(operation)
  const inputs: Input[] = []
  for (const argument of given) inputs.push(await readInput(argument, session))
  const names = places.map(({ argument }) => argument)
  const kept = makePrivate(inputs, names, options.private ?? [], session.at)
  const quorum = options.quorum === undefined ? undefined : await import('./quorum.ts')
  const chain = await (quorum ? quorum.chainOfQuestion(session) : session.chain())
  const wallet = options.land ? await session.wallet(chain) : undefined
  const { recipient, schema, submission } = options
  const question = Object.fromEntries([
    ['operation', operation],
    ...places.map(({ name }, i) => [name, inputs[i]]),
    ...parameters.map(({ name }, i) => [name, numbers[i]]),
  ]) as Question
  const opened = await quorum?.openQuorum(session, options.quorum!, chain.id)
  const answer = opened
    ? await quorum!.askQuorum(session, opened, question, { recipient, schema })
    : await geo.ask(question, { chain: chain.id, recipient, schema, submission, signal })
  // Salts are saved before the answer lands, because an answer on a chain cannot be given another salt.
  await keepPrivate(kept, session.note)
  const landed = wallet && (await landOrKeep(session, answer, wallet, { by: opened }))
  if (options.json) return session.printJson({ ...answer, ...(landed && { landed: landedJson(landed) }) })
  const isSigned = 'attestation' in answer
  session.print(session.paint.bold(resultText(answer)))
  session.print('')
  session.printFields([
    ...claimFields(answer, chain, inputs),
    ...(isSigned ? [['signed by', answer.attestation.attester] as Field] : quorum!.quorumFields(answer)),
    ...(landed ? landedFields(landed) : isSigned ? waitingFields(answer) : []),
    ['map', isSigned ? mapLink(geo.url, inputs) : undefined],
  ])
}

/** Formats a result, such as "881,329.94 m", "10,199.3273 m²" or "yes". */
function resultText({ result, units }: Pick<Answer, 'result'> & { units?: UnitName }): string {
  if (typeof result === 'boolean') return result ? 'yes' : 'no'
  const { perAnswerUnit, symbol } = UNITS[units!]
  return `${grouped(result, Math.log10(perAnswerUnit))} ${symbol.replace('2', '²')}`
}

function claimFields(
  answer: Pick<Answer, 'operation' | 'inputRefs' | 'timestamp'>,
  chain: Pick<Chain, 'slug' | 'id'>,
  inputs: readonly Input[],
): Field[] {
  const [operation, centimeters] = answer.operation.split(':')
  const question = centimeters ? `${operation} ${grouped(Number(centimeters) / 100, 2)} m` : operation!
  return [
    ['question', question],
    ...answer.inputRefs.map((ref, i): Field => [i ? '' : 'about', ref + positionText(inputs[i])]),
    ['computed', time(answer.timestamp)],
    ['chain', `${chain.slug} (${chain.id})`],
  ]
}

/** Shows a point as it was parsed, so that users notice if they wrote the latitude first. */
function positionText(input: Input | undefined): string {
  if (isPrivate(input)) return ' (private)'
  const { type, coordinates } = (typeof input === 'object' ? input : {}) as Record<string, unknown>
  if (type !== 'Point' || !Array.isArray(coordinates)) return ''
  return ` (lng ${coordinates[0]}, lat ${coordinates[1]})`
}

/** Describes how an answer can land, and its deadline. */
function waitingFields({ delegatedAttestation: { submission, contract, nonce, deadline } }: Answer): Field[] {
  // An older version of the service sends no `submission`.
  if (submission === undefined) return [['submission', 'unknown: geo cannot land this answer']]
  const how =
    submission === 'proxy' ? `proxy ${contract}, in any order` : `direct, EAS ${contract}, at nonce ${nonce}`
  return [
    ['submission', how],
    ['deadline', `${time(deadline)} (${distanceInTime(deadline - Date.now() / 1000)})`],
  ]
}

/** URL of a map of an attested place or of the geometries. Not for private inputs, since URLs are logged. */
function mapLink(url: string, inputs: readonly Input[]): string | undefined {
  const uid = inputs
    .map((input) => (typeof input === 'string' ? input : (input as { uid?: string }).uid))
    .find(Boolean)
  if (uid) return `${url}/api/v0/location-records/${uid}?format=html`
  const positions = inputs.some(isPrivate) ? [] : inputs.flatMap(positionsOf)
  if (positions.length === 0) return undefined
  const { min, max } = Math
  const box = positions
    .map(([lng, lat]) => [lng, lat, lng, lat] as const)
    .reduce(([w, s, e, n], [lng, lat]) => [min(w, lng), min(s, lat), max(e, lng), max(n, lat)])
  return `${url}/api/v0/location-records?format=html&bbox=${box.join()}`
}

/** Finds all positions in an input, at any depth. */
function positionsOf(value: unknown): [number, number][] {
  if (Array.isArray(value))
    return typeof value[0] === 'number' ? [value as [number, number]] : value.flatMap(positionsOf)
  if (typeof value !== 'object' || value === null) return []
  const { coordinates, geometry, geometries, features } = value as Record<string, unknown>
  return [coordinates, geometry, geometries, features].flatMap(positionsOf)
}
