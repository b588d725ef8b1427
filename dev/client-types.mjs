// Generates the types of packages/client from the OpenAPI document of the built API, whose routes are
// registered without a database and a chain. dev/build.mjs runs it.
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import openapiTS, { astToString } from 'openapi-typescript'

const NOTE = '/** Types of /openapi.json. dev/client-types.mjs generates them. */\n'
const FILE = 'packages/client/src/openapi.ts'

const require = createRequire(import.meta.url)
const { openApi } = require('../dist/api/copy.js')
const { readSettings } = require('../dist/src/config.js')
const { openLog } = require('../dist/src/log.js')
const { OPERATION_ROWS, TEXTS } = require('../dist/src/operations/table.js')

const settings = readSettings(
  {
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
    SIGNER_PRIVATE_KEY: `0x${randomBytes(32).toString('hex')}`,
  },
  [],
)
const { app, close } = await openApi({ ...settings, chains: [] }, openLog('silent'))
await app.ready()
const document = app.swagger()
await app.close()
await close()

/** Returns the source of an interface with a property for each operation, typed by its inputs and numbers. */
function ofOperations(name, about, typeOf) {
  const properties = OPERATION_ROWS.map(([operation, row]) => {
    const parts = [
      ...row.inputs.map((each) => `${each.name}: Input`),
      ...(row.parameters ?? []).map((each) => `${each.name}: number`),
    ]
    return `  /** ${TEXTS[operation].summary}. ${TEXTS[operation].about} */\n  ${operation}: ${typeOf(parts)}\n`
  })
  return `/** ${about} */\nexport interface ${name}<Input> {\n${properties.join('')}}\n`
}
const types = [
  NOTE,
  astToString(await openapiTS(document)),
  ofOperations('Arguments', 'Arguments of each operation.', (parts) => `[${parts.join(', ')}]`),
  ofOperations('Fields', 'The same by name.', (parts) => `{ ${parts.join('; ')} }`),
].join('')
if (!existsSync(FILE) || readFileSync(FILE, 'utf8') !== types) writeFileSync(FILE, types)
writeFileSync('dist/openapi.json', JSON.stringify(document))
