/**
 * Path suffixes of the modules from which the first view starts, and of the map's worker. The worker shares
 * no chunk with the pages, because importing a page's chunk would run the page in the worker.
 */
const STARTS = ['/web/main.tsx', '/web/explorer/index.tsx']
const WORKER = ['/maplibre-gl/src/source/worker.ts']

/**
 * Puts the modules that the first view imports into one chunk, apart from those that the map's worker loads
 * too. Otherwise, each module that other parts import as well would become a chunk, and a request, of its
 * own.
 */
export function firstView() {
  let first = new Set()
  return {
    name: 'first-view',
    config: () => ({
      build: {
        rolldownOptions: {
          output: {
            codeSplitting: {
              includeDependenciesRecursively: false,
              groups: [{ name: (id) => (first.has(id) ? 'first' : null), debugName: 'first view' }],
            },
          },
        },
      },
    }),
    buildEnd() {
      first = closureOf(STARTS, this, closureOf(WORKER, this, new Set()))
    },
  }
}

/**
 * Returns the modules whose paths have these suffixes and all that they import statically, except those in
 * `except`.
 */
function closureOf(ends, graph, except) {
  const found = new Set()
  const visit = (id) => {
    if (found.has(id) || except.has(id)) return
    found.add(id)
    graph.getModuleInfo(id)?.importedIds.forEach(visit)
  }
  for (const id of graph.getModuleIds())
    if (ends.some((end) => id.replaceAll('\\', '/').endsWith(end))) visit(id)
  return found
}
