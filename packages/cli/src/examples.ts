// SPDX-License-Identifier: MIT
import { OPERATION_ROWS, TEXTS } from '../../../src/operations/table'

export interface Example {
  text: string
  command: string
}

/** Builds an example of an operation, for operations that have no entry in EXAMPLES. */
function exampleOf([name, { inputs, parameters = [] }]: (typeof OPERATION_ROWS)[number]) {
  const places = inputs.map(({ accepts, usual }) => {
    const [type] = accepts ?? usual ?? []
    return type === 'Polygon' ? 'field.geojson' : type === 'LineString' ? 'path.geojson' : '13.351,52.5105'
  })
  const command = ['geo', name, ...places, ...parameters.map(() => '500')].join(' ')
  return [name, [{ text: TEXTS[name].summary.toLowerCase(), command }]] as const
}

/** Examples: a comment and a command, which names the command of `geo` to whose help they belong. */
const LINES = `
# from the Eiffel Tower to the Brandenburg Gate
geo distance 2.2945,48.8584 13.3777,52.5163
# between an attested place and a GeoJSON file
geo distance $PLACE tower.geojson
# a place from standard input, and the signed answer as JSON for a script
geo distance - 13.3777,52.5163 --json < tower.geojson > answer.json
# from a private place, of which only a salted hash is signed
geo distance tower.geojson $PLACE --private home.json
# land it as an attestation that contracts can read
geo distance $PLACE 2.2945,48.8584 --land --key-file key.txt --rpc http://127.0.0.1:8545
# are they at most 500 metres apart?
geo within $PLACE 13.3777,52.5163 500
# an offchain attestation as a place
geo within offchain.json 13.3777,52.5163 5000
# does the path touch the field?
geo intersects path.geojson field.geojson
# square metres of a polygon
geo area field.geojson --chain celo
# metres along a line
geo length path.geojson --submission proxy
# the zones of an attester, each as a signed answer
geo zones 13.3777,52.5163 --prover $ADDRESS --json
# the newest places of a chain
geo records --chain base-sepolia --limit 5
# all places in a box, as CSV
geo records --bbox -10,35,30,60 --format csv > places.csv
# within 200 km of Berlin, as a file of GeoJSON
geo records --near 13.4,52.5 --radius 200000 -o places.geojson
# their UIDs
geo records --format ndjson --revoked false | grep -o '"uid":"[^"]*"'
# one attested place
geo record $PLACE
# number of attested places
geo stats
# the ten most active attesters
geo stats --by prover --top 10
# by month and chain, with the area of all polygons
geo stats --by month,chain --sum area
# the newest distances that landed
geo answers --operation distance --limit 5
# all answers about an attested place
geo answers --input $PLACE --json
# stream changes in a box
geo watch --bbox -10,35,30,60
# for a program, starting at a position
geo watch --json --after $POSITION
# verify the log and all its entries up to now
geo log monitor --once --state monitor.json
# attest a place, and wait until the service has indexed it
geo attest field.geojson --memo 'A field in Berlin' --key-file key.txt --wait
# sign an offchain attestation, which is a file that any operation accepts
geo attest 13.3777,52.5163 --offchain --key-file key.txt -o gate.json
# use another location type, with its text
geo attest --location-type h3 8a1f1d48985ffff --key-file key.txt
# revoke an attestation of the key; a second run prints the time of the revocation
geo revoke $MINE --key-file key.txt
# land an answer that was computed before
geo land answer.json --key-file key.txt
# verify an attestation on its chain
geo verify $ANSWER --rpc http://127.0.0.1:8545
# verify an answer that has not landed
geo verify answer.json
# recompute an answer from its inputs
geo recompute answer.json tower.geojson 13.3777,52.5163
# recompute an attestation; attested places are read from the chain
geo recompute $ANSWER $PLACE 2.2945,48.8584
# the chains of the service
geo chains
# a map of the newest places
geo open
# one place
geo open $PLACE
# run many operations; a second run resumes
geo batch questions.ndjson -o answers.ndjson
# landed, 20 in a transaction
geo batch questions.ndjson -o landed.ndjson --land --key-file key.txt
# tools that only read
geo mcp
# with a key, a tool that lands answers
geo mcp --key-file key.txt
# answered by a quorum
geo mcp --quorum operators.json
# enable completion in this shell
eval "$(geo completion bash)"
`

function written(): Record<string, Example[]> {
  const found: Record<string, Example[]> = {}
  const lines = LINES.trim().split('\n')
  while (lines.length > 0) {
    const [text = '', command = ''] = lines.splice(0, 2)
    const name = /\bgeo (\w+)/.exec(command)?.[1]
    if (!text.startsWith('# ') || name === undefined) throw new Error(`Not an example: ${text}, ${command}`)
    ;(found[name] ??= []).push({ text: text.slice(2), command })
  }
  return found
}

/** Examples in the help, by command. test/help.service.test.ts runs each of them against the service. */
export const EXAMPLES: Readonly<Record<string, readonly Example[]>> = {
  ...Object.fromEntries(OPERATION_ROWS.map(exampleOf)),
  ...written(),
}
