/**
 * Modules from which the first view starts, and the map's worker. The worker shares no chunk with the pages,
 * because importing a page's chunk would run the page in the worker.
 */
const STARTS = /\/web\/main\.tsx$|\/web\/explorer\/index\.tsx$|\/client\/dist\/geo-[^/]+\.mjs$/
const WORKER = /\/maplibre-gl\/src\/source\/worker\.ts$/
/** Exports the whole client, of which the first view needs the chunk in `STARTS` only. */
const CLIENT = /\/client\/dist\/index\.mjs$/
/** Modules that only the pages use, although the worker loads other modules of their packages. */
const ONLY_PAGES =
  /\/maplibre-gl-style-spec\/dist\/(?:diff|deref|empty|util\/deep_equal)\.mjs$|\/gl-matrix\/esm\/mat2\.js$/

/**
 * Puts the modules that the first view imports into two chunks: `map` is what the map's worker loads too, and
 * `first` all the rest. Otherwise, each module that other parts import as well would become a chunk, and a
 * request, of its own.
 */
export function firstView() {
  let first = new Set()
  let map = new Set()
  const chunkOf = (id) =>
    first.has(id) || ONLY_PAGES.test(slashes(id)) ? 'first' : map.has(id) ? 'map' : null
  return {
    name: 'first-view',
    config: () => ({
      build: {
        rolldownOptions: {
          output: {
            codeSplitting: {
              includeDependenciesRecursively: false,
              groups: [{ name: chunkOf, debugName: 'first view' }],
            },
          },
        },
      },
    }),
    buildEnd() {
      const worker = closureOf(WORKER, this)
      const all = closureOf(STARTS, this, (id) => CLIENT.test(slashes(id)))
      first = new Set([...all].filter((id) => !worker.has(id)))
      map = new Set([...all].filter((id) => worker.has(id)))
    },
    generateBundle(_, bundle) {
      const worker = Object.values(bundle).find(({ name }) => name === 'map-worker')
      const loads = ({ name, imports = [] }) =>
        name === 'first' || imports.some((file) => loads(bundle[file]))
      if (loads(worker))
        this.error("The map's worker would run the page: take a module that it uses out of ONLY_PAGES.")
    },
  }
}

/**
 * Returns the modules whose paths match `starts` and all that they import statically, without those for which
 * `isLeftOut` is true.
 */
function closureOf(starts, graph, isLeftOut = () => false) {
  const found = new Set()
  const visit = (id) => {
    if (found.has(id) || isLeftOut(id)) return
    found.add(id)
    graph.getModuleInfo(id)?.importedIds.forEach(visit)
  }
  for (const id of graph.getModuleIds()) if (starts.test(slashes(id))) visit(id)
  return found
}

const slashes = (id) => id.replaceAll('\\', '/')
