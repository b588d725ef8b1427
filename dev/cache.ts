import module from 'node:module'
import path from 'node:path'

/**
 * Where Node keeps what V8 makes of the sources, from one start to the next (from 22.8 on): for this program,
 * which imports this file first, and for those that it starts.
 */
export const COMPILE_CACHE = path.join(__dirname, '../.compile-cache')
const { enableCompileCache } = module as { enableCompileCache?: (folder: string) => unknown }
enableCompileCache?.(COMPILE_CACHE)
