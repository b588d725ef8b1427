// SPDX-License-Identifier: MIT
import { OPERATION_ROWS, TEXTS } from '../../../src/operations/table'

/**
 * Examples in the help, by command. test/help.service.test.ts runs each of them against the service, so that
 * they cannot become outdated.
 */
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

export const EXAMPLES: Readonly<Record<string, readonly Example[]>> = {
  ...Object.fromEntries(OPERATION_ROWS.map(exampleOf)),
  distance: [
    {
      text: 'from the Eiffel Tower to the Brandenburg Gate',
      command: 'geo distance 2.2945,48.8584 13.3777,52.5163',
    },
    { text: 'between an attested place and a GeoJSON file', command: 'geo distance $PLACE tower.geojson' },
    {
      text: 'a number for a script',
      command: 'geo distance - 13.3777,52.5163 --json < tower.geojson > answer.json',
    },
    {
      text: 'from a private place, of which only a salted hash is signed',
      command: 'geo distance tower.geojson $PLACE --private home.json',
    },
    {
      text: 'land it as an attestation that contracts can read',
      command: 'geo distance $PLACE 2.2945,48.8584 --land --key-file key.txt --rpc http://127.0.0.1:8545',
    },
  ],
  within: [
    { text: 'are they at most 500 metres apart?', command: 'geo within $PLACE 13.3777,52.5163 500' },
    { text: 'an offchain attestation as a place', command: 'geo within offchain.json 13.3777,52.5163 5000' },
  ],
  intersects: [
    { text: 'does the path touch the field?', command: 'geo intersects path.geojson field.geojson' },
  ],
  area: [{ text: 'square metres of a polygon', command: 'geo area field.geojson --chain celo' }],
  length: [{ text: 'metres along a line', command: 'geo length path.geojson --submission proxy' }],
  zones: [
    {
      text: 'the zones of an attester, each as a signed answer',
      command: 'geo zones 13.3777,52.5163 --prover $ADDRESS --json',
    },
  ],
  records: [
    { text: 'the newest places of a chain', command: 'geo records --chain base-sepolia --limit 5' },
    {
      text: 'all places in a box, as CSV',
      command: 'geo records --bbox -10,35,30,60 --format csv > places.csv',
    },
    {
      text: 'within 200 km of Berlin, as a file of GeoJSON',
      command: 'geo records --near 13.4,52.5 --radius 200000 --format geojson -o places.geojson',
    },
    {
      text: 'their UIDs',
      command: 'geo records --format ndjson --revoked false | grep -o \'"uid":"[^"]*"\'',
    },
  ],
  record: [{ text: 'one attested place', command: 'geo record $PLACE' }],
  stats: [
    { text: 'number of attested places', command: 'geo stats' },
    { text: 'the ten most active attesters', command: 'geo stats --by prover --top 10' },
    {
      text: 'by month and chain, with the area of all polygons',
      command: 'geo stats --by month,chain --sum area',
    },
  ],
  answers: [
    { text: 'the newest distances that landed', command: 'geo answers --operation distance --limit 5' },
    { text: 'all answers about an attested place', command: 'geo answers --input $PLACE --json' },
  ],
  watch: [
    { text: 'stream changes in a box', command: 'geo watch --bbox -10,35,30,60' },
    { text: 'for a program, starting at a position', command: 'geo watch --json --after $POSITION' },
  ],
  log: [
    {
      text: 'verify the log and all its entries up to now',
      command: 'geo log monitor --once --state monitor.json',
    },
  ],
  attest: [
    {
      text: 'attest a place, and wait until the service has indexed it',
      command: "geo attest field.geojson --memo 'A field in Berlin' --key-file key.txt --wait",
    },
    {
      text: 'sign an offchain attestation, which is a file that any operation accepts',
      command: 'geo attest 13.3777,52.5163 --offchain --key-file key.txt -o gate.json',
    },
    {
      text: 'use another location type, with its text',
      command: 'geo attest --location-type h3 8a1f1d48985ffff --key-file key.txt',
    },
  ],
  revoke: [
    {
      text: 'revoke an attestation of the key; a second run prints the time of the revocation',
      command: 'geo revoke $MINE --key-file key.txt',
    },
  ],
  land: [
    { text: 'land an answer that was computed before', command: 'geo land answer.json --key-file key.txt' },
  ],
  verify: [
    {
      text: 'verify an attestation on its chain',
      command: 'geo verify $ANSWER --rpc http://127.0.0.1:8545',
    },
    { text: 'verify an answer that has not landed', command: 'geo verify answer.json' },
  ],
  recompute: [
    {
      text: 'recompute an answer from its inputs',
      command: 'geo recompute answer.json tower.geojson 13.3777,52.5163',
    },
    {
      text: 'recompute an attestation; attested places are read from the chain',
      command: 'geo recompute $ANSWER $PLACE 2.2945,48.8584',
    },
  ],
  chains: [{ text: 'the chains of the service', command: 'geo chains' }],
  open: [
    { text: 'a map of the newest places', command: 'geo open' },
    { text: 'one place', command: 'geo open $PLACE' },
  ],
  batch: [
    {
      text: 'run many operations; a second run resumes',
      command: 'geo batch questions.ndjson -o answers.ndjson',
    },
    {
      text: 'landed, 20 in a transaction',
      command: 'geo batch questions.ndjson -o landed.ndjson --land --key-file key.txt',
    },
  ],
  mcp: [
    { text: 'tools that only read', command: 'geo mcp' },
    { text: 'with a key, a tool that lands answers', command: 'geo mcp --key-file key.txt' },
    { text: 'answered by a quorum', command: 'geo mcp --quorum operators.json' },
  ],
  completion: [{ text: 'enable completion in this shell', command: 'eval "$(geo completion bash)"' }],
}
