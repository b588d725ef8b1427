import {
  addLocationSchemas,
  isLocationSchema,
  isLocationText,
  mayBeRead,
  type SchemaPolicy,
} from '../../src/location'
import type { ChainReader } from './chain-reader'

/**
 * Registers a schema of the chain's registry in this process, if it is a location schema and the policy
 * permits it: the index may not have found it yet. Throws an UnavailableError.
 */
export async function learnSchema(uid: string, reader: ChainReader, policy: SchemaPolicy): Promise<void> {
  if (isLocationSchema(uid) || !mayBeRead(policy, uid)) return
  const fields = (await reader.schema(uid))?.schema
  if (fields !== undefined && isLocationText(fields)) addLocationSchemas([{ uid, fields }])
}
