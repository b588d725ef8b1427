import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { transformWithOxc } from 'vite'

const SOURCE = fileURLToPath(new URL('../../src/page-header.ts', import.meta.url))
const ID = 'virtual:page-header.css'

/** `import 'virtual:page-header.css'`: style of the header, which the pages of the API contain too. */
export function pageHeader() {
  return {
    name: 'page-header',
    resolveId: (id) => (id === ID ? `\0${ID}` : undefined),
    async load(id) {
      if (id !== `\0${ID}`) return undefined
      this.addWatchFile(SOURCE)
      const { code } = await transformWithOxc(await readFile(SOURCE, 'utf8'), SOURCE)
      const { HEADER_STYLE } = await import(`data:text/javascript,${encodeURIComponent(code)}`)
      return HEADER_STYLE
    },
  }
}
