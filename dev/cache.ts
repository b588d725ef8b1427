import module from 'node:module'
import path from 'node:path'

/**
 * Keeps what V8 makes of the sources from one start to the next, for this program, which imports this file
 * first, and those that it starts. Node has this from 22.8 on.
 */
process.env.NODE_COMPILE_CACHE ||= path.join(__dirname, '../.compile-cache')
const { enableCompileCache } = module as { enableCompileCache?: () => unknown }
enableCompileCache?.()
