/**
 * How files begin, and those of GeoParquet end, apart from what writes them: only the worker loads that.
 */

/** `fgb`, version 3, `fgb`, patch level 0. */
export const FLATGEOBUF_MAGIC = Uint8Array.of(0x66, 0x67, 0x62, 3, 0x66, 0x67, 0x62, 0)
export const PARQUET_MAGIC = Buffer.from('PAR1')
