import type { Checked } from '@geospatial-attestation/client'
import type { Recomputed } from '@geospatial-attestation/client/kernel'
import { OPERATION_ROWS, TEXTS, type OperationName, type OperationRow } from '../../../src/operations/table'
import { count } from './count'

/** Writes a result as a sentence without a full stop. `value` is the result or the radius, with its unit. */
type Claim = (names: { a: string; b: string }, value: string) => string

/** Writes a claim of the table, in which the unit of a number follows its name. */
const writer =
  (claim: string): Claim =>
  ({ a, b }, value) =>
    claim.replace(/\{([01])\}|\{\w+\}(?: m)?/g, (_, input?: string) =>
      input ? [a, b][Number(input)]! : value,
    )

const perOperation = <Text>(of: (name: OperationName, row: OperationRow) => Text) =>
  Object.fromEntries(OPERATION_ROWS.map(([name, row]) => [name, of(name, row)])) as Readonly<
    Record<OperationName, Text>
  >

/**
 * Messages of the forms of the playground and of attesting. Those of operations are the English ones of
 * src/operations/table.ts.
 */
export const forms = {
  /** Operations, with the labels of their inputs in the order of src/operations/table.ts. */
  operations: perOperation((name, { inputs }) => ({
    name: name[0]!.toUpperCase() + name.slice(1),
    summary: TEXTS[name].summary,
    inputs: inputs.map(({ label }) => label),
  })),
  /** Numbers of operations by name, with their units. */
  numbers: Object.fromEntries(
    OPERATION_ROWS.flatMap(([, { parameters = [] }]) => parameters).map(({ name, label, unit }) => [
      name,
      { label, unit },
    ]),
  ) as Readonly<Record<string, { label: string; unit: string }>>,
  /** Results of operations as sentences without a full stop; for booleans one for true and one for false. */
  claims: perOperation((_, { claim }): Claim | readonly [yes: Claim, no: Claim] =>
    typeof claim === 'string' ? writer(claim) : [writer(claim[0]), writer(claim[1])],
  ),
  ask: {
    privatePlace: 'your private place',
    position: (text: string) => `the position ${text}`,
    /** Names of a geometry: alone, and as the first and the second of two of the same type. */
    shapes: {
      MultiPoint: ['the points', 'the first points', 'the second points'],
      LineString: ['the line', 'the first line', 'the second line'],
      MultiLineString: ['the lines', 'the first lines', 'the second lines'],
      Polygon: ['the polygon', 'the first polygon', 'the second polygon'],
      MultiPolygon: ['the polygons', 'the first polygons', 'the second polygons'],
      GeometryCollection: ['the geometry', 'the first geometry', 'the second geometry'],
    },
    record: (uid: string) => `record ${uid}`,
    apart: (a: string, b: string, distance: string) => `${a} is ${distance} from ${b}`,
    within: (radius: string) => `within ${radius}`,
    notWithin: (radius: string) => `not within ${radius}`,
    nothingSent: (problem: string) => `${problem} Nothing was sent. Try again.`,
    tooMany: (remedy: string) => `Too many questions from your IP address. ${remedy}`,
    unavailable: (reason: string, remedy: string) =>
      `The service cannot answer at the moment: ${reason}. Nothing was signed. ${remedy}`,
    again: 'Try again.',
    againInMinutes: (minutes: number) => `Try again in ${count(minutes, 'minute')}.`,
    againInSeconds: (seconds: number) => `Try again in ${count(seconds, 'second')}.`,
    yes: 'Yes',
    no: 'No',
  },
  sources: {
    locate: 'My position',
    locateAs: (label: string) => `Use my position as ${label}`,
    locating: 'Locating ...',
    located: (meters: string) => `Located within ${meters} m. Nothing is published until you attest.`,
    locationDenied:
      'This browser blocks the position of this page. Allow it in the address bar, or draw the place.',
    locationFailed: 'The device did not find its position. Try again outside, or draw the place.',
    open: 'Open a file',
    openAs: (label: string) => `Open a file as ${label}`,
    opened: (file: string, places: number) => `Opened ${file}: ${count(places, 'place')}.`,
    choose: 'Place in the file',
    tooLarge: (megabytes: string) => `The file is too large: ${megabytes} MB at most.`,
    noGeometry: (file: string) => `'${file}' has no geometry.`,
    notWgs84: (file: string, crs: string) =>
      `'${file}' has the reference system '${crs.slice(0, 80)}'. Convert it to WGS84 (EPSG:4326).`,
    unknown: (file: string) => `'${file}' is not GeoJSON, KML, GPX or a shapefile.`,
    notXml: (file: string) => `'${file}' is not valid XML.`,
    notShapefile: (file: string) => `'${file}' is not a shapefile, or is damaged.`,
  },
  dropped: {
    title: 'Place from a file',
    close: 'Close the file',
    ask: 'Ask about this place',
    attest: 'Attest this place',
  },
  drawing: {
    undo: 'Undo',
    edit: 'Edit on the map',
    editAs: (label: string) => `Edit on the map: ${label}`,
    editing:
      'Drag a corner, or the middle of an edge to add one. Click a corner, or choose it with the slider, and remove it with the button or the Delete key.',
    corner: 'Corner',
    cornerOf: (number: number, all: number, position: string) => `${number} of ${all}: ${position}`,
    remove: 'Remove corner',
    done: 'Done',
    notEditable: 'The geometry cannot be edited.',
    notes: {
      isInside: 'One contains the other, so there is no path between them to draw.',
      wholeEarth: 'The radius covers the whole Earth, so it has no edge to draw.',
      manyPositions:
        'The edge of the radius is not drawn, because the target has too many positions for this page.',
      straightRadius: 'The edge of the radius is drawn with straight lines between exact positions.',
      straightOverlap: 'The intersection is drawn with straight lines between positions on the geodesics.',
      complexOverlap: 'The intersection is too complex to draw, so only its edges are drawn.',
    },
  },
  photo: {
    add: 'Add a photo',
    reducing: 'Reducing the photo ...',
    reduced: (width: number, height: number, bytes: string) =>
      `Reduced to ${width} by ${height} pixels (${bytes} bytes). The data about its camera, place and time were removed.`,
    offers: 'The photo states where and when it was taken. Nothing of it is published unless you use it:',
    position: (position: string) => `Use its position ${position}`,
    time: (time: string) => `Use its time ${time}`,
    cameraTime: (time: string) => `Use its time ${time}, by the camera's clock`,
  },
  publish: {
    warning: 'This place is private. An attestation publishes it for everyone, permanently.',
    confirm: 'Publish this place',
  },
  media: {
    picture: (type: string) => `Attested picture (${type})`,
    characters: (number: number) => `… (${count(number, 'character')})`,
    external: ', external link, not checked by this service',
    title: 'Media',
    link: 'Add a link',
    file: 'Add a small file',
    linkOf: (number: number) => `Link to file ${number}`,
    linkExample: 'ipfs://... or https://...',
    typeOf: (number: number) => `Type of file ${number}`,
    typeExample: 'image/jpeg',
    remove: 'Remove',
    removeOf: (number: number) => `Remove file ${number}`,
    tooLarge: (file: string, bytes: number, most: number) =>
      `'${file}' has ${count(bytes, 'byte')}, but on-chain storage is expensive. Store files of more than ${count(most, 'byte')} elsewhere, such as on IPFS, and add a link.`,
    unreadable: 'This browser cannot read the picture.',
    notSmall: 'The picture cannot be made small enough.',
  },
  attest: {
    title: 'Attest a place',
    meaning:
      'A signed, public statement about a place on a chain. You can revoke it later, but never remove it.',
    fromLink:
      'A link filled in this form. Its author chose the place and the memo: read both before you sign.',

    action: 'Attest place',
    place: 'Place',
    placeExample: '2.2945, 48.8584, or GeoJSON',
    memo: 'Memo',
    time: 'Time',
    timeHelp: 'When this was true, in your local time. Leave blank to use the current time.',
    recipient: 'Recipient',
    recipientExample: '0x...',
    recipientHelp: 'The account that this is about (optional).',
    wholeMemo: 'What everyone will read',
    wholeMemoOf: (characters: number) =>
      `Full memo, as everyone will read it (${count(characters, 'character')}):`,
    lineBreaks: (number: number) => `[${number} line breaks]`,
    attestation: 'Attestation',
    onMap: 'It is on the map:',
    openIt: 'open it in the explorer',
    ask: 'Ask about this place',
    another: 'Attest another place',
    steps: {
      checking: 'Checking the place ...',
      valid: (next: string) => `The place is valid. ${next}`,
      confirmed: (block: number) =>
        `Confirmed in block ${block.toLocaleString('en')}. Waiting for the map ...`,
      indexed: 'Indexed.',
    },
    sent: {
      transaction: 'Sent transaction',
      earlier: (chain: string) => `Earlier transaction on ${chain}:`,
      meaning:
        'It, or a transaction that replaced it, may still attest its place. If you attest the place again, you may pay twice.',
      lookAgain: 'Look again',
      notIndexed: 'The service has not indexed the place of this transaction yet.',
      forget: 'Forget the transaction',
    },
    problems: {
      nothingSent: 'Nothing was sent. Correct the marked field and try again.',
      noPlace: 'Enter a place: draw it on the map, or paste it.',
      uid: 'This is the UID of an attestation. Enter a position or GeoJSON.',
      private: 'An attestation is public, so a private place (with a salt) cannot be attested.',
      time: 'Enter a date in 1970 or later, and a time.',
      clocks: 'The clocks of your time zone skip or repeat this time. Enter another time.',
      medium: (number: number) => `File ${number} needs a link and a type, such as image/jpeg.`,
    },
  },
  place: {
    shapes: { point: 'Draw a point', linestring: 'Draw a line', polygon: 'Draw a polygon' },
    shapeAs: (shape: string, label: string) => `${shape} as ${label}`,
    how: {
      point: 'Click the map.',
      linestring: 'Click to add points. Click the last one again, or press Enter, to finish.',
      polygon: 'Click to add corners. Click the first or last one again, or press Enter, to finish.',
    },
    makePrivate: 'Make private',
    makePrivateOf: (label: string) => `Make private: ${label}`,
    privateMeaning: 'Signs only a salted hash, which reveals nothing about the place',
    isPrivate:
      'Only a salted hash of this place is signed. Save the text: without it nobody can prove what the answer is about. Links never contain it, but the browser history may contain what you typed before.',
    privateOf: (label: string) => `the private ${label}`,
    save: 'Save',
    saveOf: (label: string) => `Save the private ${label}`,
    recordOn: (chain: string) => `Record on ${chain}:`,
    noMemo: 'no memo',
    revoked: 'It is revoked, so it cannot be used.',
    otherChain: (asked: string, own: string) => `The question is for ${asked}: select ${own} as chain.`,
    chain: 'Chain',
    unknownChain: (name: string) => `Chain not found: ${name}. Select a chain.`,
    expected:
      'Expected a position as longitude, latitude (2.2945, 48.8584), GeoJSON, or the UID of a record (0x and 64 hex digits).',
    uidDigits: (digits: number) => `A UID is 0x and 64 hex digits; this text has ${digits}.`,
    longitudeFirst: (latitude: number) =>
      `Longitude comes first: the second number, ${latitude}, is not a latitude from -90 to 90.`,
    refused: (reason: string) => `The ${reason}.`,
    lose: 'The form has a private place or media, which no link contains, or waits for a wallet. Continue and lose its contents?',
    readAs: (longitude: number, latitude: number) => `Longitude ${longitude}, latitude ${latitude}.`,
    notJson: (reason: string) => `Expected valid JSON: ${reason}.`,
    notGeoJson: 'Expected GeoJSON: a geometry, a Feature or a FeatureCollection.',
  },
  playground: {
    title: 'Ask about places',

    asking: 'Asking ...',
    action: 'Ask',
    tooLong: 'These geometries are too long for a link, so the URL does not contain all of them.',
    example: '2.2945, 48.8584, GeoJSON, or the UID of a record',
    operation: 'Operation',
    notIndexed: 'The record is not indexed yet. The service looks for it on the chain.',
    loading: 'Loading the record ...',
    number: (label: string, unit: string) => `${label}, ${unit}`,
    expectedNumber: (label: string, unit: string) =>
      `Expected a ${label} in ${unit}, at least 0, such as 1000 or 0.5.`,
    noChains: 'The list of chains is not loaded yet. Try again.',
    noPlace: 'Choose a place: draw it, pick one on the map, or paste coordinates.',
    polar: 'Lines and points within 5 degrees of a pole are drawn at 85 degrees, where the map ends.',
    notDrawn: (reason: string) => `Could not draw the answer: ${reason}`,
    quorum: {
      title: 'Ask several operators',
      asks: (k: number, operators: number) =>
        `Asks ${count(operators, 'operator')}: ${k} must sign the same answer`,
      operators: 'Operators',
      help: 'One URL per line. Each operator receives the question and computes the answer itself.',
      example: 'https://one.example',
      k: 'Signatures needed',
      expected: 'Expected URLs of at most 64 operators, and a number of signatures from 1 to their number.',
      disclose: (hosts: string) => `Send the private place to ${hosts}`,
      undisclosed:
        'These operators would receive the private place, and not only its hash. Agree to it under the operators, or ask this service only.',
      use: 'Use these operators',
      leave: 'Ask this service only',
      unsaved:
        'The page loads again to use other operators, and would lose a private or very long place. Save it, and clear its field.',
    },
  },
  answer: {
    title: 'Answer',
    doNotUse: 'Do not use this answer.',
    checked: 'Checked in your browser',
    checking: ['Recovering the signature ...', 'Recomputing the result ...'],
    noContract: (chain: string) =>
      `The service names no contract on ${chain}, so the signature cannot be checked.`,
    signed: (attester: string, chain: string) =>
      `Signed by ${attester}, the attester of this service on ${chain}: recovered from the signature in your browser.`,
    /** English has the sentence of the client. Other languages write the verdict and the computed result. */
    recomputed: ({ verdict, sentence }: Recomputed) =>
      verdict === 'equal' ? `Recomputed in your browser: ${sentence}` : sentence,
    quorum: {
      signed: (operator: number, epoch: number) =>
        `Signed by a key that the operators name as operator ${operator} of epoch ${epoch}: recovered from the signature in your browser.`,
      contract: (contract: string, chain: string) =>
        `The operators say that the contract ${contract} on ${chain} lists their keys. Only that contract can confirm it: compare its address with the one that you know, and land the answer.`,
      dissent: (operator: string, reason: string, detail: string) =>
        `${operator} did not sign: ${reason}. ${detail}`,
      otherPayload: (operator: string) =>
        `${operator} signed another payload for the same question. One of the operators is at fault: keep both payloads as evidence.`,
      evidence: 'Signed payloads that contradict each other',
      file: 'answer.json, for geo land',
    },
    notIndexed: 'The attestation is not indexed, so the answer cannot be recomputed here.',
    attestation: 'The signed attestation',
    code: 'Do this in code',
    snippets: { curl: 'curl', typescript: 'TypeScript', solidity: 'Solidity' },
    snippetOf: (language: string) => `the ${language} snippet`,
    fields: {
      operation: 'operation; for within, with the radius in centimetres',
      result: 'result',
      resultIn: (units: string) => `in ${units}`,
      inputRef: 'per input: hash of the geometry, or UID of its attestation',
      timestamp: 'time of the computation',
      schema: 'data layout',
      attester: 'signer',
      recipient: 'recipient (zero: none)',
      refUID: 'referenced attestation (zero: none)',
      revocable: 'true if the attester can revoke it',
      expirationTime: 'expiration (0: never)',
      submission: 'how to submit it: directly to EAS at a nonce, or through the proxy',
      nonce: 'nonce of the attester in EAS',
      deadline: 'submit before',
      data: 'the fields above, ABI-encoded',
      signature: 'EIP-712 signature over all of these',
    },
  },
  landing: {
    title: (chain: string) => `Publish on ${chain}`,
    action: 'Publish',
    signedAgain: (reason: string) => `Signed again because ${reason}.`,
    already: 'Already on the chain.',
    confirmed: (block: number) => `Confirmed in block ${block.toLocaleString('en')}.`,
    unread: (reason: string) => `It landed, but could not be read from the chain: ${reason}`,
    explorer: "Show it in EAS's explorer",
    /** English has the sentences of the client. Other languages write the claims. */
    checked: ({ valid, problems, sentence = '' }: Checked) =>
      `${valid ? 'Checked on the chain, and valid:' : `Not valid: ${problems.join(' ')}`} ${sentence}`.trimEnd(),
  },
  wallet: {
    testAccount: (verb: string) => `${verb} with a test account`,
    with: (verb: string) => `${verb} with`,
    none: 'This browser has no wallet.',
    install: 'Install a wallet extension (EIP-6963 or EIP-1193), then reload this page.',
    useTestAccount: 'Use a test account of the local chain instead.',
    confirm: 'Confirm in your wallet ...',
    confirmsItself: 'The test account confirms by itself ...',
    waiting: 'Waiting for the signature and the chain ...',
    sent: (hash: string) => `Sent as ${hash}. Waiting for its block ...`,
    attestedAs: 'Attested as',
    account: 'Account',
    onChain: (chain: string) => `, on ${chain}.`,
    willSwitch: (current: number, chain: string, id: number) =>
      `, on chain ${current}: the wallet will ask to switch to ${chain} (chain ${id}).`,
    rejected: 'You rejected the request in your wallet. Nothing was sent.',
    notAllowed:
      'Your wallet does not allow this page to use the account. Connect it in the wallet and try again.',
    disconnected: 'Your wallet has no connection to the chain. Check its network and try again.',
    pending: 'Your wallet already shows a request of this page. Answer it there.',
    failed: (reason: string) => `Your wallet reported an error: ${reason}.`.replace(/\.\.$/, '.'),
    unknownChain: (chain: string, id: number) =>
      `Your wallet does not know ${chain} (chain ${id}). Add this network in the wallet and try again. Nothing was sent.`,
    otherChain: (chain: string, id: number) =>
      `Your wallet is still on another chain. Select ${chain} (chain ${id}) in it and try again. Nothing was sent.`,
    injected: 'your browser wallet',
  },
}
