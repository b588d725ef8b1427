/** Reads members of a ZIP archive (PKWARE APPNOTE 6.3.10, 4.3). */

const [CENTRAL, END] = [0x02014b50, 0x06054b50]
const STORED = 0
const DEFLATED = 8
const UTF_8 = new TextDecoder()

/** Returns the texts of the members whose names match. Throws a RangeError for a damaged archive. */
export async function textsIn(archive: ArrayBuffer, pattern: RegExp): Promise<string[]> {
  const view = new DataView(archive)
  let end = archive.byteLength - 22
  while (view.getUint32(end, true) !== END) end--
  const texts: string[] = []
  let at = view.getUint32(end + 16, true)
  for (let left = view.getUint16(end + 10, true); left > 0; left--) {
    if (view.getUint32(at, true) !== CENTRAL) throw new RangeError('expected a member of the archive')
    const method = view.getUint16(at + 10, true)
    const size = view.getUint32(at + 20, true)
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((i) => view.getUint16(at + i, true))
    const name = UTF_8.decode(new Uint8Array(archive, at + 46, nameLength))
    if (pattern.test(name)) {
      const local = view.getUint32(at + 42, true)
      const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true)
      texts.push(await textOf(new Uint8Array(archive, start, size), method))
    }
    at += 46 + nameLength! + extraLength! + commentLength!
  }
  return texts
}

async function textOf(bytes: Uint8Array<ArrayBuffer>, method: number): Promise<string> {
  if (method === STORED) return UTF_8.decode(bytes)
  if (method !== DEFLATED) throw new RangeError('expected a member that is stored or deflated')
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))).text()
}
