// Walls between rooms (docs/architecture/README.md, Rooms), for the rule project/walls of .oxlintrc.json,
// which editors show, and for test/walls.test.ts.

/** Rooms that each room may import, each by its door. All may import the rooms of FLOORS. */
const ARROWS = {
  'api/http': ['src/geodesy', 'src/operations', 'src/eas'],
  'api/cql2': [],
  'api/outgoing': [],
  'api/contracts': ['src/rpc'],
  'api/store': ['api/cql2'],
  'api/formats': ['api/store'],
  'api/query': ['api/cql2', 'api/store'],
  'api/pages': ['api/store', 'api/formats', 'api/query'],
  'api/records': ['api/store', 'api/formats', 'api/query', 'api/pages'],
  'api/log': ['api/outgoing', 'api/store', 'src/tlog'],
  'api/compute': ['api/contracts', 'api/log', 'api/store', 'src/rpc', 'src/tlog'],
  'api/quorum': ['api/compute', 'api/contracts'],
  'api/answers': ['api/compute', 'api/store', 'api/formats', 'api/query', 'api/pages'],
  'api/stream': ['api/store', 'api/formats', 'api/query'],
  'api/webhooks': ['api/outgoing', 'api/store', 'api/query', 'api/stream'],
  'api/tiles': ['api/store', 'api/query'],
  'api/ogc': ['api/store', 'api/formats', 'api/query', 'api/pages', 'api/tiles'],
  'api/graphql': ['api/store', 'api/query'],
  'api/mcp': [],
  'api/web': [],
  'api/places': ['api/contracts', 'api/store', 'api/formats', 'api/pages', 'api/web'],
  'api/service': [
    'api/answers',
    'api/compute',
    'api/contracts',
    'api/log',
    'api/store',
    'api/records',
    'api/quorum',
    'api/tiles',
    'api/graphql',
    'api/mcp',
    'api/web',
    'src/rpc',
  ],
  'src/geodesy': [],
  'src/operations': ['src/geodesy'],
  'src/eas': [],
  'src/tlog': [],
  'src/location': ['src/geodesy', 'src/eas'],
  'src/answer': ['src/operations', 'src/eas', 'src/location'],
  'src/settings': ['src/location', 'src/eas'],
  'src/rpc': [],
  'src/chain': ['src/rpc', 'src/eas'],
  'src/indexer': [
    ...['src/chain', 'src/rpc', 'src/location', 'src/answer', 'src/eas', 'src/abi', 'src/model'],
    ...['src/geodesy', 'src/operations'],
  ],
}
/** Rooms that all of api/ may import. Each file of http is a door, so that a worker loads no web server. */
const FLOORS = ['api/http', 'src/geodesy', 'src/operations', 'src/eas', 'src/location', 'src/answer']
/**
 * Doors in addition to a room's index. The squid's GraphQL loads packages that the API does not need, and
 * workers load the model without the database. The others lead to modules that also run in browsers.
 */
export const PORTABLE = [
  ...['src/geodesy', 'src/geodesy/degrees', 'src/geodesy/centimeters', 'src/operations'],
  ...['src/operations/table', 'src/operations/lengths', 'src/eas/portable', 'src/eas/layouts'],
  ...[
    'src/eas/compact',
    'src/eas/times',
    'src/location/names',
    'src/location/payload',
    'src/cut',
    'src/errors',
    'src/events',
    'src/strict-json',
    'src/tlog',
  ],
]
const SIDE_DOORS = ['api/graphql/squid', 'api/store/model', ...PORTABLE]

/** Room of a file, or of a module without its extension; undefined outside the rooms. */
export function roomOf(file) {
  return Object.keys(ARROWS).find((room) => file === room || file.startsWith(`${room}/`))
}

/**
 * Problem of an import between rooms; undefined if there is none.
 * @param file path in the project, such as `api/tiles/routes.ts`
 * @param target path of the imported module, without an extension
 */
export function problemOf(file, target) {
  const room = roomOf(file)
  const other = roomOf(target)
  if (!other || other === room || !/^(api|src)\//.test(file)) return undefined
  const floors = file.startsWith('api/') && room !== 'api/http' ? FLOORS : []
  if (room !== undefined && ![...ARROWS[room], ...floors].includes(other))
    return `${room} may not import ${other}. The rooms that it may import are in dev/rooms.mjs.`
  if (target === other || other === 'api/http' || SIDE_DOORS.includes(target)) return undefined
  return `${target} is behind the door of its room. Import its door, '${other}'.`
}
