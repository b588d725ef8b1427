// SPDX-License-Identifier: MIT
/**
 * Returns the first characters (code points) of a text. Replaces halves of surrogate pairs, which strict
 * readers of JSON reject.
 */
export function cut(text: string, characters: number): string {
  const start =
    text.length <= characters
      ? text
      : Array.from(text.slice(0, 2 * characters))
          .slice(0, characters)
          .join('')
  return start.replace(/\p{Surrogate}/gu, '\ufffd')
}
