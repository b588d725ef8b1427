import {
  addLocationSchemas,
  isLocationSchema,
  isLocationText,
  mayBeRead,
  type SchemaPolicy,
} from '../../src/location'
import type { ChainReader } from './chain-reader'

/**
 * Makes this process know a schema that the chain's registry has, if it is one of locations and the policy
 * lets it be read: the index may not have found it yet. Throws UnavailableError.
 */
export async function learnSchema(uid: string, reader: ChainReader, policy: SchemaPolicy): Promise<void> {
  if (isLocationSchema(uid) || !mayBeRead(policy, uid)) return
  const fields = (await reader.schema(uid))?.schema
  if (fields !== undefined && isLocationText(fields)) addLocationSchemas([{ uid, fields }])
}
