import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'

/** Returns true if the user types into this element, or chooses in it. */
export const isField = (element: Element | null): boolean =>
  Boolean(element?.closest('input, textarea, select, [contenteditable]'))

/**
 * Focuses a title when it appears and when `keys` change: before the first paint, so that a key that is
 * pressed immediately applies to it. Does not take the focus from a field: the title's code may load seconds
 * after the click, when the user already types elsewhere.
 */
export function useFocusedTitle(title: RefObject<HTMLElement>, keys: readonly unknown[]): void {
  useLayoutEffect(() => {
    if (!isField(document.activeElement)) title.current?.focus()
  }, keys)
}
