import {
  addLocationSchemas,
  isLocationSchema,
  isLocationText,
  mayBeRead,
  type SchemaPolicy,
} from '../../src/location'
import type { ChainReader } from './chain-reader'

/** Registers a location schema, if the policy permits it, before the index has found it. */
export async function learnSchema(uid: string, reader: ChainReader, policy: SchemaPolicy): Promise<void> {
  if (isLocationSchema(uid) || !mayBeRead(policy, uid)) return
  const fields = (await reader.schema(uid))?.schema
  if (fields !== undefined && isLocationText(fields)) addLocationSchemas([{ uid, fields }])
}
