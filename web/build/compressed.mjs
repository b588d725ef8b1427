import { readdirSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const COMPRESSIBLE = /\.(js|css|html|json|svg|txt)$/
/** Size in bytes below which compression saves nothing. */
const SMALL = 1_024

/**
 * Also writes each file compressed, as `.br` and `.gz`, which the server sends unchanged. All are compressed
 * at once, in the threads of Node, because compression takes half of the processor time of a build.
 */
export function compressed() {
  let folder = ''
  return {
    name: 'compressed',
    configResolved: ({ root, build }) => {
      folder = path.resolve(root, build.outDir)
    },
    closeBundle: async () => {
      const names = readdirSync(folder, { recursive: true }).filter((name) => COMPRESSIBLE.test(name))
      await Promise.all(names.map((name) => compress(path.join(folder, name))))
    },
  }
}

async function compress(file) {
  const bytes = await readFile(file)
  if (bytes.length < SMALL) return
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 11,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  }
  await Promise.all([
    promisify(gzip)(bytes, { level: 9 }).then((result) => writeFile(`${file}.gz`, result)),
    promisify(brotliCompress)(bytes, { params }).then((result) => writeFile(`${file}.br`, result)),
  ])
}
