/**
 * Magic bytes, at the start of files and at the end of GeoParquet. They are separate from the writers, which
 * only the worker loads.
 */

/** `fgb`, version 3, `fgb`, patch level 0 */
export const FLATGEOBUF_MAGIC = Uint8Array.of(0x66, 0x67, 0x62, 3, 0x66, 0x67, 0x62, 0)
export const PARQUET_MAGIC = Buffer.from('PAR1')
