import { readFileSync } from 'node:fs'
import {
  AbiCoder,
  Interface,
  TypedDataEncoder,
  Wallet,
  getAddress,
  ZeroAddress,
  ParamType,
  hexlify,
  id,
  recoverAddress,
} from 'ethers'
import { describe, expect, test } from 'vitest'
import {
  ATTEST_TYPE_HASHES,
  BOOLEAN_RESULT_FIELDS,
  DELEGATED_ABIS,
  NUMERIC_RESULT_FIELDS,
  PayloadError,
  attestCalldata,
  attestDigest,
  attestationUid,
  decodeResult,
  delegationError,
  domainSeparator,
  encodeBooleanResult,
  encodeNumericResult,
  fieldTypes,
  hashesToUid,
  attestTypedData,
  canonicalSignature,
  expandSignature,
  keySigner,
  layoutOfTypeHash,
  multiAttestCalldata,
  payloadBytes,
  quorumDigest,
  quorumDomain,
  quorumTypedData,
  recoverSigner,
  sealOf,
  schemaUid,
  splitSignature,
  type AttestLayout,
} from '.'
import { seededRandom } from '../../dev/random'
import { hunt } from '../../test/seed'
import { LOCATION_SCHEMAS } from '../location'
import { CURVE, ETHERS_CURVE, NATIVE_CURVE, type Curve } from './curve'
import { Tuple, decodeBytes, decodeFields, parseSchema } from './decode'
import { sentence, testSentences } from '../../test/sentences'

/** Vectors from eas-sdk 2.10.0 that the contracts accepted, as the file states. */
const { typeHashes, vectors } = JSON.parse(readFileSync('test/vectors/delegated-vectors.json', 'utf8'))

/** Implementations of the curve; only the first one if the native library is not prebuilt. */
const CURVES = NATIVE_CURVE ? [ETHERS_CURVE, NATIVE_CURVE] : [ETHERS_CURVE]

describe('signatures of the service', () => {
  test.runIf(process.platform === 'linux' && process.arch === 'x64')(
    'are made by the native library if it is prebuilt',
    () => expect(NATIVE_CURVE).toBeDefined(),
  )
  hunt('equal those of ethers in both implementations, and recover', 4, async ({ random, cases }) => {
    const bytes = () => hexlify(Uint8Array.from({ length: 32 }, () => random() * 256))
    for (let i = 0; i < cases; i++) {
      const [key, digest] = [bytes(), bytes()]
      const wallet = new Wallet(key)
      for (const curve of CURVES) {
        const signer = await keySigner(key, curve)
        expect(signer.address).toBe(wallet.address.toLowerCase())
        const signature = await signer.sign(digest)
        expect(signature).toBe(wallet.signingKey.sign(digest).serialized)
        expect(recoverAddress(digest, signature)).toBe(wallet.address)
        for (const other of CURVES) expect(await recoverSigner(digest, signature, other)).toBe(signer.address)
      }
    }
  })
  test('recover no address if they are not canonical: high s, v 0, 1 or 29, zeros, other lengths', async () => {
    const digest = `0x${'5a'.repeat(32)}`
    const signer = await keySigner(`0x${'11'.repeat(32)}`)
    const signature = await signer.sign(digest)
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
    const highS = (order - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, '0')
    const body = signature.slice(0, 130)
    const others = [
      `${signature.slice(0, 66)}${highS}${signature.endsWith('1b') ? '1c' : '1b'}`,
      ...[`${body}00`, `${body}01`, `${body}1d`, body, `${signature}00`, ''],
      ...[`0x${'00'.repeat(64)}1b`, `0x${'ff'.repeat(64)}1b`],
    ]
    for (const curve of CURVES)
      for (const other of others)
        expect([other, await recoverSigner(digest, other, curve)]).toEqual([other, undefined])
    expect(await recoverSigner(digest, signature.toUpperCase().replace('0X', '0x'))).toBe(signer.address)
  })
  hunt('expand from the 64 bytes of EIP-2098 as in ethers', 20, async ({ random, cases }) => {
    const bytes = () => hexlify(Uint8Array.from({ length: 32 }, () => random() * 256))
    for (let i = 0; i < cases; i++) {
      const wallet = new Wallet(bytes())
      const digest = bytes()
      const { serialized, compactSerialized } = wallet.signingKey.sign(digest)
      expect(expandSignature(compactSerialized)).toBe(serialized)
      expect(expandSignature(serialized)).toBe(serialized)
      const rs = Buffer.from(compactSerialized.slice(2), 'hex')
      expect(await canonicalSignature(digest, rs, wallet.address.toLowerCase())).toBe(serialized)
    }
    for (const other of ['', '0x', `0x${'1'.repeat(127)}`, `0x${'g'.repeat(128)}`, '1'.repeat(128)])
      expect(expandSignature(other)).toBe(other)
  })
  test('are never made by a library that signs differently from ethers', async () => {
    const sign: Curve['sign'] = (digest, key) => {
      const changed = digest.map((byte) => byte ^ 1)
      return ETHERS_CURVE.sign(changed, key)
    }
    const other: Curve = { ...ETHERS_CURVE, name: 'other', sign }
    await expect(keySigner(`0x${'11'.repeat(32)}`, other)).rejects.toThrow(sentence())
  })
  test('stop within 64 signatures if a library begins to sign incorrectly', async () => {
    let isBroken = false
    const failing: Curve = {
      ...CURVE,
      sign: (digest, key) => CURVE.sign(isBroken ? digest.map((byte) => byte ^ 1) : digest, key),
    }
    const signer = await keySigner(`0x${'11'.repeat(32)}`, failing)
    const digest = `0x${'5a'.repeat(32)}`
    for (let i = 0; i < 5; i++) await signer.sign(digest)
    isBroken = true
    let wrong = 0
    while (await signer.sign(digest).catch(() => undefined)) wrong++
    expect(wrong).toBe(59)
    isBroken = false
    for (let i = 0; i < 65; i++) await expect(signer.sign(digest)).rejects.toThrow(sentence())
  })
  test('use a seal (sealOf) that depends on the secret and on the text', () => {
    const [one, two] = ['11', '12'].map((byte) => sealOf(`0x${byte.repeat(32)}`))
    expect(one!('a')).toBe(sealOf(`0x${'11'.repeat(32)}`)('a'))
    expect(new Set([one!('a'), one!('b'), two!('a')]).size).toBe(3)
  })
  test('become canonical if an external signer makes them, and are rejected for another digest or key', async () => {
    const digest = `0x${'5a'.repeat(32)}`
    for (let i = 1; i <= 4; i++) {
      const signer = await keySigner(`0x${String(i).padStart(64, '0')}`)
      const { address } = signer
      const signature = await signer.sign(digest)
      const low = Buffer.from(signature.slice(2, 130), 'hex')
      const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
      const s = (order - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, '0')
      const high = Buffer.concat([low.subarray(0, 32), Buffer.from(s, 'hex')])
      for (const curve of CURVES)
        for (const rs of [low, high]) {
          expect(await canonicalSignature(digest, rs, address, curve)).toBe(signature)
          expect(await canonicalSignature(`0x${'5b'.repeat(32)}`, rs, address, curve)).toBeUndefined()
          expect(await canonicalSignature(digest, rs, `0x${'11'.repeat(20)}`, curve)).toBeUndefined()
          expect(await canonicalSignature(digest, rs.subarray(1), address, curve)).toBeUndefined()
        }
    }
    const zeros = Buffer.alloc(64)
    expect(await canonicalSignature(digest, zeros, `0x${'11'.repeat(20)}`)).toBeUndefined()
    expect(await canonicalSignature(digest, zeros.fill(0xff), `0x${'11'.repeat(20)}`)).toBeUndefined()
  })
  test('need a valid private key', async () => {
    for (const key of ['0x', `0x${'00'.repeat(32)}`, `0x${'ff'.repeat(32)}`])
      for (const curve of CURVES) await expect(keySigner(key, curve)).rejects.toThrow()
  })
})

/** Signers of the vectors, of which each compares many signatures when it is made. */
const vectorSigners = new Map<string, ReturnType<typeof keySigner>>()
function vectorSigner(key: string, curve: Curve) {
  const name = `${key} ${curve.name}`
  const known = vectorSigners.get(name) ?? keySigner(key, curve)
  vectorSigners.set(name, known)
  return known
}

describe('delegated attestations', () => {
  const attests = vectors as { id: string; typeVersion: string; [field: string]: any }[]
  test.each(attests)('match vector $id, byte for byte', async (vector) => {
    const { domain, message, expected, privateKey, attester } = vector
    const layout = vector.typeVersion as AttestLayout
    const numbers = ['expirationTime', 'value', 'nonce', 'deadline'].map((name) => [
      name,
      BigInt(message[name] ?? 0),
    ])
    const full = { attester, ...message, ...Object.fromEntries(numbers) }
    expect(domainSeparator(domain)).toBe(expected.domainSeparator)
    const digest = await attestDigest(domainSeparator(domain), layout, full)
    expect(digest).toBe(expected.digest)
    const typed = JSON.parse(JSON.stringify(attestTypedData(domain, layout, full)))
    const { EIP712Domain, ...types } = typed.types
    expect(EIP712Domain.map(({ name }: { name: string }) => name)).toEqual(Object.keys(typed.domain))
    expect([typed.primaryType, TypedDataEncoder.hash(typed.domain, types, typed.message)]).toEqual([
      'Attest',
      digest,
    ])
    expect(typed.domain).toEqual(domain)
    const { recipient, attester: named = attester } = typed.message
    expect([recipient, named]).toEqual([message.recipient, attester])
    for (const curve of CURVES) {
      const signature = await (await vectorSigner(privateKey, curve)).sign(digest)
      expect(signature).toBe(expected.signature)
      expect(await recoverSigner(digest, signature, curve)).toBe(attester.toLowerCase())
    }
  })
  test('have the domain and the recipient of a quorum as signers can compare them', () => {
    const [address, zeros] = [getAddress(`0x${'ab'.repeat(20)}`), `0x${'00'.repeat(32)}`]
    const domain = quorumDomain(84532, address)
    const terms = { refUID: zeros, revocable: true, expirationTime: 0, deadline: 1, epoch: 2 }
    const answer = { schema: zeros, recipient: address, data: '0x12', ...terms }
    const typed = quorumTypedData(domain, answer)
    const message = { recipient: address, deadline: '1' }
    expect(typed).toMatchObject({ primaryType: 'Answer', domain, message })
    const { EIP712Domain, ...types } = typed.types
    expect(EIP712Domain).toHaveLength(4)
    expect(TypedDataEncoder.hash(typed.domain, types as never, typed.message)).toBe(
      quorumDigest(domain, answer),
    )
  })
  test.each(['legacy', 'v1', 'v2', 'proxy'] as const)('have the call data of ethers for %s', (layout) => {
    const contract = new Interface(DELEGATED_ABIS[layout])
    const random = seededRandom(7)
    const bytes = (length: number) => hexlify(Uint8Array.from({ length }, () => random() * 256))
    for (const length of [0, 1, 31, 32, 33, 320]) {
      const request = {
        schema: bytes(32),
        data: {
          ...{ recipient: getAddress(bytes(20)), expirationTime: Math.floor(random() * 2 ** 50) },
          revocable: length % 2 === 0,
          ...{ refUID: bytes(32), data: bytes(length), value: String(2n ** 100n + BigInt(length)) },
        },
        signature: splitSignature(`0x${'12'.repeat(64)}1b`),
        ...{ attester: bytes(20), deadline: Math.floor(random() * 2 ** 50) },
      }
      expect(attestCalldata(layout, request)).toBe(
        contract.encodeFunctionData('attestByDelegation', [request]),
      )
      const { data, signature, ...common } = request
      const multi = [{ ...common, data: [data, data], signatures: [signature, signature] }]
      expect(multiAttestCalldata(layout, multi)).toBe(
        contract.encodeFunctionData('multiAttestByDelegation', [multi]),
      )
    }
  })
  test('have the digest of ethers for the proxy layout, without a nonce', async () => {
    const domain = { name: 'A proxy', version: '1.4.0', chainId: 84532, verifyingContract: ZeroAddress }
    const message = {
      ...{ attester: `0x${'11'.repeat(20)}`, schema: `0x${'22'.repeat(32)}` },
      ...{ recipient: `0x${'33'.repeat(20)}`, expirationTime: 5, revocable: true },
      ...{ refUID: `0x${'44'.repeat(32)}`, data: '0x1234', value: 6, deadline: 7 },
    }
    const fields =
      'address attester,bytes32 schema,address recipient,uint64 expirationTime,bool revocable,bytes32 refUID,bytes data,uint256 value,uint64 deadline'
    const Attest = fields.split(',').map((field) => {
      const [type, name] = field.split(' ')
      return { type: type!, name: name! }
    })
    for (const nonce of [0, 9])
      expect(await attestDigest(domainSeparator(domain), 'proxy', { ...message, nonce })).toBe(
        TypedDataEncoder.hash(domain, { Attest }, message),
      )
  })
  test('name the errors of the contracts', () => {
    expect(delegationError('proxy', id('UsedSignature()').slice(0, 10))).toBe('UsedSignature')
    expect(delegationError('v1', '0x8baa579f')).toBe('InvalidSignature')
    expect(delegationError('v1', '0x12345678')).toBeUndefined()
    expect(delegationError('v1', '0x')).toBeUndefined()
    for (const text of ['Error(string)', 'Panic(uint256)', 'UsedSignature()'])
      expect(delegationError('proxy', `${id(text).slice(0, 10)}ff`)).toBe(text.slice(0, text.indexOf('(')))
  })
  test('reject fields that do not fit their types', async () => {
    const { message, domain } = attests[0]!
    const good = { attester: ZeroAddress, ...message, expirationTime: 0n, value: 0n, nonce: 0n, deadline: 0n }
    for (const bad of [
      { nonce: -1n },
      { expirationTime: 2n ** 64n },
      { deadline: 2n ** 64n },
      { recipient: '0x12' },
      { schema: '0x' },
      { data: '0xabc' },
      { nonce: 1.5 },
    ])
      await expect(attestDigest(domainSeparator(domain), 'v1', { ...good, ...bad })).rejects.toThrow(
        TypeError,
      )
  })
  test('have test vectors of every layout', () => {
    expect(new Set(attests.map((vector) => vector.typeVersion))).toEqual(new Set(['legacy', 'v1', 'v2']))
  })
  test('have the type hashes of the contracts', () => {
    // The type hash of EAS's EIP712Proxy 1.4.0 is a constant in its source.
    const proxy = '0xea02ffba7dcb45f6fc649714d23f315eef12e3b27f9a7735d8d8bf41eb2b1af1'
    expect(ATTEST_TYPE_HASHES).toEqual({ ...typeHashes, proxy })
    expect(layoutOfTypeHash(typeHashes.v2)).toBe('v2')
    expect(layoutOfTypeHash(`0x${'0'.repeat(64)}`)).toBeUndefined()
  })
})

describe('UIDs of schemas and attestations', () => {
  test('follow from the texts of known schemas', () => {
    for (const { uid, fields } of LOCATION_SCHEMAS) expect(schemaUid(fields, ZeroAddress, true)).toBe(uid)
    expect(schemaUid(NUMERIC_RESULT_FIELDS, ZeroAddress, true)).toBe(
      '0xc2b013ecb68d59b28f5d301203ec630335d97c37b400b16b359db6972572e02a',
    )
    expect(schemaUid(BOOLEAN_RESULT_FIELDS, ZeroAddress, true)).toBe(
      '0x4958625091a773dcfb37a1c33099a378f32a975a7fb61f33d53c4be7589898f5',
    )
  })
  const fields = {
    ...{ schema: `0x${'11'.repeat(32)}`, recipient: ZeroAddress, attester: `0x${'22'.repeat(20)}` },
    ...{ time: 1_700_000_000n, expirationTime: 2n ** 64n - 1n, revocable: true },
    ...{ refUID: `0x${'00'.repeat(32)}`, data: '0xabcd' },
  }
  test('depend on every field and on the bump, but not on the letter case of hex', async () => {
    const uid = attestationUid(fields)
    expect(attestationUid({ ...fields, data: '0xABCD' })).toBe(uid)
    const others = [
      attestationUid(fields, 1),
      attestationUid({ ...fields, revocable: false }),
      attestationUid({ ...fields, time: 1n }),
      attestationUid({ ...fields, data: '0x' }),
    ]
    expect(new Set([uid, ...others]).size).toBe(5)
    expect(await hashesToUid(fields, others[0]!)).toBe(true)
    expect(await hashesToUid(fields, others[1]!)).toBe(false)
  })
  test('reject fields that are not hex', () => {
    expect(() => attestationUid({ ...fields, schema: '0x11' })).toThrow(sentence())
    expect(() => attestationUid({ ...fields, data: '0xabc' })).toThrow(TypeError)
    // Buffer uses only the low byte of a character, which is '0' or '1' in this text.
    for (const data of ['0x\u0130\u0131', '0x0g', '01']) expect(() => payloadBytes(data)).toThrow(TypeError)
  })
})

describe('payload codecs', () => {
  const context = { inputRefs: [`0x${'33'.repeat(32)}`], timestamp: 1_700_000_000, operation: 'within:50000' }
  test('decode a result to the encoded values', () => {
    const coder = AbiCoder.defaultAbiCoder()
    expect(
      coder
        .decode(fieldTypes(NUMERIC_RESULT_FIELDS), encodeNumericResult(88132994n, 'centimeters', context))
        .toArray(true),
    ).toEqual([88132994n, 'centimeters', context.inputRefs, 1_700_000_000n, 'within:50000'])
    expect(
      coder.decode(fieldTypes(BOOLEAN_RESULT_FIELDS), encodeBooleanResult(true, context)).toArray(true),
    ).toEqual([true, context.inputRefs, 1_700_000_000n, 'within:50000'])
  })

  hunt('encode a result like ethers, and decode their own encoding', 30, ({ random, cases }) => {
    const coder = AbiCoder.defaultAbiCoder()
    for (let i = 0; i < cases; i++) {
      const refs = Array.from({ length: random() * 4 }, () =>
        hexlify(Uint8Array.from({ length: 32 }, () => random() * 256)),
      )
      const [result, timestamp, operation, units] = [
        BigInt(Math.floor(random() * 2 ** 53)) ** 3n,
        Math.floor(random() * 2 ** 33),
        'within:Zürich'.repeat(random() * 8),
        'x'.repeat(random() * 70),
      ]
      const numeric = encodeNumericResult(result, units, { inputRefs: refs, timestamp, operation })
      expect(numeric).toBe(
        coder.encode(fieldTypes(NUMERIC_RESULT_FIELDS), [result, units, refs, timestamp, operation]),
      )
      expect(decodeResult(numeric)).toEqual({ result, units, inputRefs: refs, timestamp, operation })
      const boolean = encodeBooleanResult(i % 2 === 0, { inputRefs: refs, timestamp, operation })
      expect(boolean).toBe(
        coder.encode(fieldTypes(BOOLEAN_RESULT_FIELDS), [i % 2 === 0, refs, timestamp, operation]),
      )
      expect(decodeResult(boolean)).toEqual({ result: i % 2 === 0, inputRefs: refs, timestamp, operation })
    }
    expect(() => encodeNumericResult(-1n, '', context)).toThrow(TypeError)
    expect(() => encodeNumericResult(2n ** 256n, '', context)).toThrow(TypeError)
  })
  test('do not decode any other payload as a result', () => {
    const numeric = encodeNumericResult(5n, 'centimeters', context)
    for (const other of [
      '0x',
      `${numeric}00`,
      `${numeric}${'0'.repeat(64)}`,
      numeric.slice(0, -64),
      numeric.replace('a0', 'c0'),
      `0x${'0'.repeat(62)}02${encodeBooleanResult(true, context).slice(66)}`,
    ])
      expect(decodeResult(other)).toBeUndefined()
  })

  const TYPES = ['uint256', 'string', 'bytes', 'string[]', 'bytes[]', 'uint8']
  const encode = (...values: unknown[]) => AbiCoder.defaultAbiCoder().encode(TYPES, values)
  const decodeTypes = (types: string[], data: string) => decodeBytes(types, payloadBytes(data))
  const decode = (data: string) => decodeTypes(TYPES, data)
  test('decode the encoding of ethers', () => {
    const bytes = [new Uint8Array(), Uint8Array.of(255)]
    expect(decode(encode(5n, 'Zürich', '0x0102', ['a', ''], ['0x', '0xff'], 255))).toEqual([
      ...[5n, 'Zürich', Uint8Array.of(1, 2), ['a', ''], bytes, 255n],
    ])
  })
  test('reject a payload that is truncated anywhere', () => {
    const whole = encode(5n, 'Zürich', '0x0102', ['a', 'b'], ['0x', '0xff'], 255)
    // The padding of the last word may be missing: Solidity's decoder accepts that.
    for (let length = 2; length < whole.length - 64; length += 2)
      expect(() => decode(whole.slice(0, length))).toThrow(PayloadError)
  })
  test('reject invalid UTF-8, numbers that are too large, and overlapping pointers', () => {
    const text = (hex: string) => AbiCoder.defaultAbiCoder().encode(['bytes'], [hex])
    expect(() => decodeTypes(['string'], text('0xc328'))).toThrow(sentence())
    expect(() => decodeTypes(['uint8'], `0x${'01'.padStart(62, '0')}00`)).toThrow(sentence())
    // 500 list entries that all point to one text of 3 kB.
    const word = (value: number) => value.toString(16).padStart(64, '0')
    const aliased = `0x${word(32)}${word(500)}${word(500 * 32).repeat(500)}${word(3_000)}${'61'.repeat(3_008)}`
    expect(() => decodeTypes(['string[]'], aliased)).toThrow(sentence())
  })
  test('accept several pointers to one text, as contracts do', () => {
    const word = (value: number) => value.toString(16).padStart(64, '0')
    const shared = `0x${word(64)}${word(64)}${word(200)}${'61'.repeat(224)}`
    expect(decodeTypes(['string', 'string'], shared)).toEqual(['a'.repeat(200), 'a'.repeat(200)])
  })
  hunt('decode any types like ethers', 150, ({ random, cases }) => {
    const below = (n: number) => Math.floor(random() * n)
    const type = (depth: number): string => {
      const kind = below(depth ? 11 : 8)
      if (kind === 8) return `${type(depth - 1)}[]`
      if (kind === 9) return `${type(depth - 1)}[${1 + below(3)}]`
      if (kind === 10)
        return `(${Array.from({ length: 1 + below(3) }, (_, i) => `${type(depth - 1)} f${i}`).join(',')})`
      const bits = 8 * (1 + below(32))
      return [
        ...[`uint${bits}`, `int${bits}`, `bytes${1 + below(32)}`, 'bool', 'address', 'string', 'bytes'],
        'uint',
      ][kind]!
    }
    const bytes = (n: number) =>
      `0x${Array.from({ length: n }, () => below(256).toString(16).padStart(2, '0')).join('')}`
    const value = (of: ParamType): unknown => {
      if (of.baseType === 'array')
        return Array.from({ length: of.arrayLength! < 0 ? below(4) : of.arrayLength! }, () =>
          value(of.arrayChildren!),
        )
      if (of.baseType === 'tuple') return of.components!.map(value)
      const bits = Number(/\d+$/.exec(of.type)?.[0] ?? 256)
      if (of.type.startsWith('uint')) return BigInt.asUintN(bits, BigInt(bytes(32)))
      if (of.type.startsWith('int')) return BigInt.asIntN(bits, BigInt(bytes(32)))
      if (of.type === 'bool') return below(2) === 1
      if (of.type === 'address') return bytes(20)
      if (of.type === 'string') return ['', 'Zürich', 'x'.repeat(below(70))][below(3)]
      return bytes(of.type === 'bytes' ? below(70) : bits)
    }
    const plain = (read: unknown): unknown =>
      read instanceof Uint8Array
        ? hexlify(read)
        : read instanceof Tuple
          ? read.entries.map(([, each]) => plain(each))
          : Array.isArray(read)
            ? read.map(plain)
            : read
    for (let i = 0; i < cases; i++) {
      const text = Array.from({ length: 1 + below(4) }, (_, n) => `${type(3)} name${n}`).join(', ')
      const params = ParamType.from(`tuple(${text})`).components!
      const values = params.map(value)
      const payload = payloadBytes(AbiCoder.defaultAbiCoder().encode(params, values))
      expect(plain(decodeFields(parseSchema(text), payload)), text).toEqual(values)
      // A truncated or changed payload results in a PayloadError or values, never in another error.
      const broken = payload.slice(0, below(payload.length + 1))
      if (broken.length) broken[below(broken.length)] = below(256)
      try {
        decodeFields(parseSchema(text), broken)
      } catch (error) {
        expect(error, text).toBeInstanceOf(PayloadError)
      }
    }
  })
  test('limit the work for lists of lists that share their elements to the size of the payload', () => {
    const word = (value: number) => value.toString(16).padStart(64, '0')
    // Each level has 40 pointers to the level below.
    const level = `${word(40)}${word(40 * 32).repeat(40)}`
    const payload = payloadBytes(`0x${word(32)}${level.repeat(4)}${word(0)}`)
    expect(() => decodeFields(parseSchema('uint8[][][][][] a'), payload)).toThrow('overlap')
  })
  test('decode random bytes to a PayloadError or values, quickly (seed 7)', () => {
    let state = 7
    const random = (below: number) => (state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) % below
    const whole = Buffer.from(encode(5n, 'Zürich', '0x0102', ['a', 'b'], ['0x', '0xff'], 255).slice(2), 'hex')
    for (let i = 0; i < 3_000; i++) {
      const bytes = Buffer.from(whole)
      for (let n = random(6); n >= 0; n--) bytes[random(bytes.length)] = random(256)
      try {
        decode(`0x${bytes.toString('hex')}`)
      } catch (error) {
        expect(error).toBeInstanceOf(PayloadError)
      }
    }
  })
})

testSentences()
