import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect } from 'preact/hooks'

/** Returns true if the user types into this element, or chooses in it. */
export const isField = (element: Element | null): boolean =>
  Boolean(element?.closest('input, textarea, select, [contenteditable]'))

/**
 * Focuses an element when it is shown or a key changes, before the first paint, so that a key that is pressed
 * immediately applies to it. If its code was loaded late and the user has moved the focus away from `opener`,
 * the focus stays there. If the element is removed while it or an element next to it has the focus, `opener`
 * gets the focus back.
 */
export function useFocus(
  element: RefObject<HTMLElement | null>,
  opener: Element | null,
  keys: readonly string[] = [],
): void {
  useLayoutEffect(() => {
    const { activeElement } = document
    if (activeElement === opener || activeElement === document.body) element.current?.focus()
  }, [...keys])
  useLayoutEffect(
    () => () =>
      queueMicrotask(() => {
        const isLost = document.activeElement === document.body
        if (isLost && opener instanceof HTMLElement) opener.focus()
      }),
    [],
  )
}

/** Focuses the field of a form that a problem marks, because it may be scrolled out of view. */
export function useMarked(problem: unknown): void {
  useEffect(() => {
    if (problem) document.querySelector<HTMLElement>(".panel:not([hidden]) [aria-invalid='true']")?.focus()
  }, [problem])
}
