/**
 * Whether an address may hold what a field of a place holds: not with a salt, as addresses are kept in many
 * places. It goes by the text, which may be no JSON yet, or no more.
 */
export function isShareable(text: string): boolean {
  const unescaped = text.replace(/\\u([0-9a-f]{4})/gi, (_, code: string) =>
    String.fromCharCode(parseInt(code, 16)),
  )
  return !/salt/i.test(unescaped)
}
