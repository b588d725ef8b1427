import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const PREACT = path.join(path.dirname(createRequire(path.resolve('web/_')).resolve('preact')), 'preact.mjs')

/** Renders a component without elements, as a page does. Returns a function that renders it again. */
export async function rendered<P extends object>(
  component: (properties: P) => null,
  properties: P,
): Promise<(properties: P | null) => void> {
  const { h, render } = (await import(pathToFileURL(PREACT).href)) as {
    h: (of: unknown, properties: object) => unknown
    render: (node: unknown, parent: object) => void
  }
  const parent = { childNodes: [], insertBefore: () => {}, removeChild: () => {} }
  const show = (next: P | null) => render(next && h(component, next), parent)
  show(properties)
  return show
}
