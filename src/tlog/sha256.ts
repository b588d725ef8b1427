// SPDX-License-Identifier: MIT
import { sha256 as portable } from '@noble/hashes/sha2.js'
import { nodeCrypto } from './node-crypto'

/** Synchronous SHA-256 in every engine, because WebCrypto hashes only asynchronously. */
export const sha256: (data: Uint8Array) => Uint8Array = nodeCrypto?.hash
  ? (data) => nodeCrypto!.hash!('sha256', data, 'buffer')
  : portable
