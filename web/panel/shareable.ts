/**
 * False for a text with a salt, because addresses are stored in many places. The text itself is searched:
 * while it is edited it may not be valid JSON.
 */
export function isShareable(text: string): boolean {
  const unescaped = text.replace(/\\u([0-9a-f]{4})/gi, (_, code: string) =>
    String.fromCharCode(parseInt(code, 16)),
  )
  return !/salt/i.test(unescaped)
}
