import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const COMPRESSIBLE = /\.(js|css|html|json|svg|txt)$/
/** Size in bytes below which compression saves nothing. */
const SMALL = 1_024

/** Also writes each file compressed, as `.br` and `.gz`, which the server sends unchanged. */
export function compressed() {
  let folder = ''
  return {
    name: 'compressed',
    configResolved: ({ root, build }) => {
      folder = path.resolve(root, build.outDir)
    },
    closeBundle: () => {
      for (const name of readdirSync(folder, { recursive: true })) {
        if (!COMPRESSIBLE.test(name)) continue
        const file = path.join(folder, name)
        const bytes = readFileSync(file)
        if (bytes.length < SMALL) continue
        writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }))
        const params = {
          [constants.BROTLI_PARAM_QUALITY]: 11,
          [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
        }
        writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }))
      }
    },
  }
}
