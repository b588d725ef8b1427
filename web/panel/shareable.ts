/**
 * True if an address may contain the text of a place field. It may not with a salt, because addresses are
 * stored in many places. The text decides, because it may not be JSON yet, or no longer.
 */
export function isShareable(text: string): boolean {
  const unescaped = text.replace(/\\u([0-9a-f]{4})/gi, (_, code: string) =>
    String.fromCharCode(parseInt(code, 16)),
  )
  return !/salt/i.test(unescaped)
}
