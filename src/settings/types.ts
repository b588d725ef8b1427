import { isIP } from 'node:net'
import { CHAINS, chainNamed, type Chain } from '../chains'
import { ADDRESS_PATTERN, UID_PATTERN, parseUid } from '../eas'
import { hostUrls, requireReadable } from '../postgres'
import {
  LOCATION_SCHEMAS as BUILT_IN,
  locationSchema,
  type LocationSchema,
  type SchemaPolicy,
} from '../location'

/** Type of a setting: its name in the documents, and its parser. */
export interface Type<T> {
  readonly name: string
  /** Parses a value. Throws an Error that states the rule, and never quotes a value that may be a secret. */
  readonly parse: (text: string) => T
}

function type<T>(name: string, parse: (text: string) => T): Type<T> {
  return { name, parse }
}

function matching(name: string, expression: RegExp, expected: string): Type<string> {
  return type(name, (text) => {
    if (!expression.test(text)) throw new Error(`expected ${expected}`)
    return text
  })
}

/** Type of a comma-separated list of at least one item. Commas within an item do not separate items. */
function listOf<T>(each: Type<T>, separator: string | RegExp = ','): Type<readonly T[]> {
  return type(`${each.name}, ...`, (text) => {
    const found = parts(text, separator)
    return (found.length > 0 ? found : ['']).map(each.parse)
  })
}

/** Type of a comma-separated list that has the items of each key once. */
function setOf<T>(each: Type<T>, keyOf: (item: T) => unknown): Type<readonly T[]> {
  const list = listOf(each)
  return type(list.name, (text) => {
    const keys = new Set<unknown>()
    return list.parse(text).filter((item) => keys.size < keys.add(keyOf(item)).size)
  })
}

function parts(text: string, separator: string | RegExp): string[] {
  const found = text.split(separator).map((part) => part.trim())
  return found.filter(Boolean)
}

function within(text: string, minimum: number, maximum: number): boolean {
  return text.trim() !== '' && Number(text) >= minimum && Number(text) <= maximum
}

export const TEXT = type('text', (text) => text)
export const FILE: Type<string> = { ...TEXT, name: 'path' }

const YES = ['true', 't', 'yes', 'on', '1']
const NO = ['false', 'f', 'no', 'off', '0']
export const BOOLEAN = type('boolean', (text) => {
  if (![...YES, ...NO].includes(text)) throw new Error('expected true or false')
  return YES.includes(text)
})

export function choice<const T extends string>(...choices: readonly T[]): Type<T> {
  return type(choices.join(', '), (text) => {
    const found = choices.find((each) => each === text)
    if (found === undefined) throw new Error(`expected one of ${choices.join(', ')}`)
    return found
  })
}

export function integer(minimum: number, maximum: number): Type<number> {
  return type('integer', (text) => {
    if (!within(text, minimum, maximum) || !Number.isInteger(Number(text)))
      throw new Error(`expected a whole number from ${minimum} to ${maximum}`)
    return Number(text)
  })
}

export function number(minimum: number, maximum: number): Type<number> {
  return type('number', (text) => {
    if (!within(text, minimum, maximum)) throw new Error(`expected a number from ${minimum} to ${maximum}`)
    return Number(text)
  })
}

export const PORT = integer(1, 65_535)
/** Host name or address to listen on, without a port. */
export const LISTENING_HOST = matching(
  'host',
  /^[^\s[\]/]+$/,
  'an address without brackets, or a host name, such as 0.0.0.0 or ::',
)

export interface Listening {
  readonly host: string
  readonly port: number
}
/** A port of 127.0.0.1, or `host:port` with an IPv6 address in brackets. */
export const LISTENING = type('[host:]port', (text): Listening => {
  const [, inBrackets, host = inBrackets ?? '127.0.0.1', port] =
    /^(?:(?:\[([\da-f:.]+)\]|([^:[\]]+)):)?(\d+)$/i.exec(text) ?? []
  if (port === undefined || !within(port, 1, 65_535))
    throw new Error('expected a port, or an address and a port such as 0.0.0.0:9464')
  return { host, port: Number(port) }
})

export const HTTP_URL = type('http(s) URL', (text) => {
  if (!/^https?:\/\/\S+$/.test(text) || !URL.canParse(text)) throw new Error('expected an http(s) URL')
  if (!isDecodable(text)) throw new Error('expected an http(s) URL with %25 for % in its user and password')
  return text
})
function isDecodable(url: string): boolean {
  const { username, password } = new URL(url)
  try {
    return decodeURIComponent(username + password) !== undefined
  } catch {
    return false
  }
}
/** URLs, each once in any spelling, because the same endpoint does not confirm its own responses. */
export const HTTP_URLS = setOf(HTTP_URL, (url) => new URL(url).href)
/** URL to which paths are appended. */
export const BASE_URL = type(HTTP_URL.name, (text) => {
  if (/[?#]/.test(text)) throw new Error('expected an http(s) URL without ? and #')
  return HTTP_URL.parse(text)
})
const BASE_URLS = listOf(BASE_URL)
/** IPFS gateways, which may be none; undefined if no documents are fetched. */
export const OFFCHAIN_URIS = type('boolean or http(s) URL, ...', (text) => {
  if (/^https?:/.test(text)) return BASE_URLS.parse(text)
  if (YES.includes(text)) return []
  if (NO.includes(text)) return undefined
  throw new Error('expected true, false or http(s) URLs of IPFS gateways')
})
/** True if the whole text is a URL. A # in a password would end its host. */
function isServerUrl(text: string): boolean {
  return !/[\s#]/.test(text) && URL.canParse(text)
}
const ESCAPES = 'with %23, %25, %2F, %3F and %40 for #, %, /, ? and @ in the password'
const POSTGRES = 'a URL such as postgres://user:password@host:5432/name'
function postgresUrl(form: RegExp, expected: string): Type<string> {
  return type('postgres URL', (text) => {
    const isUrl = (url: string) => isServerUrl(url.replace('@/', '@host/')) && isReadable(url)
    if (!form.test(text) || !hostUrls(text).every(isUrl)) throw new Error(`expected ${expected}, ${ESCAPES}`)
    return text
  })
}
/** False if pg cannot decode a URL. Throws if pg refuses it for another reason, such as a missing file. */
function isReadable(url: string): boolean {
  try {
    requireReadable(url)
    return true
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (error instanceof URIError || code === 'ERR_INVALID_URL') return false
    throw new Error(`the parameters of the URL are not usable: ${message.replaceAll(url, 'the URL')}`)
  }
}
/** URL that may list several hosts (src/postgres.ts), or none, for this machine. */
export const POSTGRES_URL = postgresUrl(/^postgres(ql)?:\/\/./, POSTGRES)
export const POSTGRES_URLS = listOf(
  postgresUrl(/^postgres(ql)?:\/\/[^,]+$/, `URLs, each ${POSTGRES}, separated by commas`),
  /,(?=\s*postgres)/,
)
export const REDIS_URL = type('redis URL', (text) => {
  if (!/^rediss?:\/\/./.test(text) || !isServerUrl(text) || !isDecodable(text))
    throw new Error(`expected a URL such as redis://host:6379, ${ESCAPES}`)
  if (!/^(\/\d*)?$/.test(new URL(text).pathname))
    throw new Error('expected a URL whose path is the number of a database, such as redis://host:6379/1')
  return text
})

const HEX_32 = matching('32 bytes in hex', /^(0x)?[0-9a-fA-F]{64}$/, '32 bytes in hex')
export const PRIVATE_KEY = type(HEX_32.name, (text) => HEX_32.parse(text).replace(/^(?!0x)/, '0x'))
/** One or more secrets, each on its own line. */
export const SEALS = { ...listOf(PRIVATE_KEY, /\s+/), name: 'lines of 32 bytes in hex' }
export const ADMIN_KEY = matching(
  '32+ characters',
  /^[\x21-\x7e]{32,}$/,
  '32 or more printable characters without spaces',
)

const LOG_KEY_PATTERN = /^PRIVATE\+KEY\+[^\s+]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}$/
/** Signer key of a log (C2SP signed-note). */
export const LOG_KEY = matching(
  'signer key',
  LOG_KEY_PATTERN,
  'a signer key: PRIVATE+KEY+<origin>+<key ID>+<base64>',
)
/** False turns the log off, true needs no witnesses, a text is the path of a policy with witnesses. */
export const LOG = type('on, off, path', (text): boolean | string =>
  ['on', 'off'].includes(text) ? text === 'on' : text,
)

const ADDRESS = matching('address', new RegExp(ADDRESS_PATTERN), 'an address: 0x and 40 hex digits')
/** Address in lower case. */
export const LOWER_ADDRESS: Type<string> = type(ADDRESS.name, (text) => ADDRESS.parse(text).toLowerCase())
export const ADDRESSES = listOf(LOWER_ADDRESS)
/** UID in lower case. */
export const UID = type('UID', (text) => {
  if (!new RegExp(UID_PATTERN).test(text)) throw new Error('expected a UID: 0x and 64 hex digits')
  return text.toLowerCase()
})

/** Rejects Express's "true" and hop counts, which would trust the header of any client. */
export const ADDRESS_RANGES = listOf(
  type('address or CIDR range', (text) => {
    const [, address = '', prefix = '1'] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
    const bits = { 0: 0, 4: 32, 6: 128 }[isIP(address)]!
    if (!within(prefix, 1, bits))
      throw new Error(`expected addresses or CIDR ranges, separated by commas, got '${text.slice(0, 80)}'`)
    return text
  }),
)
/** Hosts as a URL writes them, each with its port if the setting names one, including a default port. */
export const HOSTS = listOf(
  type('host', (text) => {
    if (!URL.canParse(`http://${text}/`) || /[/\\@?#*]/.test(text))
      throw new Error(`expected hosts such as hooks.internal or 127.0.0.1:8080, got '${text.slice(0, 80)}'`)
    const [, port] = /:(\d+)$/.exec(text.replace(/^\[.*\]/, '')) ?? []
    const { hostname } = new URL(`http://${text}/`)
    return port === undefined ? hostname : `${hostname}:${Number(port)}`
  }),
)
const CHAIN = type('slug', (text): Chain => {
  const chain = chainNamed(text)
  if (!chain)
    throw new Error(
      `expected one or more of ${CHAINS.map(({ slug }) => slug).join(', ')}, got '${text.slice(0, 80)}'`,
    )
  return chain
})
/** Chains, each once, although it may be named by its slug and by its id. */
export const CHAIN_LIST = setOf(CHAIN, ({ slug }) => slug)

/** Location schemas by their texts, and the rule that selects further schemas of the registries. */
export interface ChosenSchemas {
  readonly texts: readonly LocationSchema[]
  readonly policy: SchemaPolicy
}
/** Entries are the text of a schema, `0x...`, `-0x...` and `-*`. */
export const LOCATION_SCHEMAS = type('schema; ...', (text): ChosenSchemas => {
  const texts: LocationSchema[] = []
  const [listed, excluded] = [new Set<string>(), new Set<string>()]
  let found: SchemaPolicy['found'] = 'all'
  for (const part of parts(text, ';')) {
    const uid = parseUid(part.replace(/^-/, ''))
    if (part.startsWith('-') && BUILT_IN.some((each) => each.uid === uid))
      throw new Error(`expected - and the UID of a schema that is not built in, got '${part}'`)
    if (part === '-*') found = 'listed'
    else if (uid !== undefined) (part.startsWith('-') ? excluded : listed).add(uid)
    else if (part.startsWith('-')) throw new Error(`expected - and a UID, or -*, got '${part.slice(0, 80)}'`)
    else texts.push(locationSchema(part))
  }
  return { texts, policy: { found, listed, excluded } }
})
export const NO_SCHEMAS = LOCATION_SCHEMAS.parse('')

/** A key outside this process: in a PKCS#11 token, or in a service that signs typed data. */
export type OutsideKey =
  | {
      readonly kind: 'pkcs11'
      /** Path of the PKCS#11 library. */
      readonly module: string
      /** Label of the token. */
      readonly token: string
      /** Label of the key, or `id:` and its id in hex. */
      readonly key: string
    }
  | { readonly kind: 'remote'; readonly url: string }

const PKCS11_FORM = 'pkcs11:token=<label>;object=<label of the key>?module-path=<library>'
/** An http(s) URL, or a PKCS#11 URI (RFC 7512) with token, object or id, and module-path. */
export const SIGNER_URL = type('http(s) or pkcs11 URL', (text): OutsideKey => {
  if (!text.startsWith('pkcs11:')) return { kind: 'remote', url: HTTP_URL.parse(text) }
  const [path = '', query = ''] = text.slice('pkcs11:'.length).split('?')
  const attributes = new Map<string, Buffer>()
  for (const [list, separator] of [
    [path, ';'],
    [query, '&'],
  ] as const)
    for (const attribute of parts(list, separator)) {
      const [, name, value] =
        /^(token|object|id|type|module-path)=((?:[^%]|%[\da-f]{2})+)$/i.exec(attribute) ?? []
      if (name === undefined || attributes.has(name))
        throw new Error(`expected ${PKCS11_FORM}. An attribute is unknown, empty or set twice.`)
      attributes.set(name, percentDecoded(value!))
    }
  const [module, token, object, id] = ['module-path', 'token', 'object', 'id'].map((name) =>
    attributes.get(name),
  )
  if (!module || !token || (object === undefined) === (id === undefined))
    throw new Error(`expected ${PKCS11_FORM}, or id=%01%0a instead of object`)
  const key = object === undefined ? `id:${id!.toString('hex')}` : object.toString()
  return { kind: 'pkcs11', module: module.toString(), token: token.toString(), key }
})

/** Decodes percent-encoding (RFC 3986, 2.1) to bytes, because an id need not be UTF-8. */
function percentDecoded(text: string): Buffer {
  const pieces = text.match(/%[\da-f]{2}|[^%]+/gi) ?? []
  return Buffer.concat(
    pieces.map((piece) => (piece.startsWith('%') ? Buffer.from(piece.slice(1), 'hex') : Buffer.from(piece))),
  )
}
