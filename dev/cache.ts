import module from 'node:module'
import path from 'node:path'

/**
 * Folder in which Node (22.8 or newer) stores V8's compiled code between starts: for this program, which
 * imports this file first, and for programs that it starts.
 */
export const COMPILE_CACHE = path.join(__dirname, '../.compile-cache')
const { enableCompileCache } = module as { enableCompileCache?: (folder: string) => unknown }
enableCompileCache?.(COMPILE_CACHE)
