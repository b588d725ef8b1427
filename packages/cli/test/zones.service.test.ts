// SPDX-License-Identifier: MIT
import { beforeAll, describe, expect, test } from 'vitest'
import { attest, locationRequest, revoke, testAccount } from '../../../dev/chain'
import { LOCATION_SCHEMA } from '../../../src/location'
import { insertRecords } from '../../../test/records'
import { square } from '../../../test/shapes'
import { LOCAL_CHAIN, startTestWorld, type TestWorld } from '../../../test/world'
import { openShell, type Shell } from './geo'

/** Compares the output of `geo zones` with the service's response. */
let world: TestWorld
let shell: Shell
/** UIDs of two squares side by side, from west to east, and of a revoked one. */
let west: string
let east: string
let revoked: string

beforeAll(async () => {
  world = await startTestWorld()
  shell = openShell(world)
  west = await attest(world.chain, locationRequest(square(10, 50)))
  east = await attest(world.chain, locationRequest(square(11, 50)))
  revoked = await attest(world.chain, locationRequest(square(10, 50)))
  await revoke(world.chain, revoked)
  await world.caughtUp()
  shell.write('zones.txt', `${west}\n${east}, ${revoked}\n`)
})

const SCHEMA = ['--zone-schema', LOCATION_SCHEMA.uid]

describe('geo zones', () => {
  test('prints each zone that contains a place, and each on whose boundary it is', async () => {
    expect(await shell.geo(['zones', '10.5,50.5', '--quiet', ...SCHEMA])).toEqual({
      ...{ code: 0, stderr: '', stdout: `contains  ${west}\n` },
    })
    const { code, stdout, stderr } = await shell.geo(['zones', '11,50.5', ...SCHEMA])
    const both = [west, east].sort().map((uid) => `boundary  ${uid}\n`)
    expect([code, stdout, stderr]).toEqual([0, both.join(''), expect.stringMatching(/\nNo zone .*\n$/)])
  })
  test('reads UIDs from a file and from stdin, and exits with status 1 if a zone is undecided', async () => {
    for (const [file, stdin] of [['zones.txt'], ['-', `${revoked} ${west}`]] as const) {
      const { code, stdout, stderr } = await shell.geo(['zones', '10.5,50.5', '--uids', file], {
        ...(stdin !== undefined && { stdin }),
      })
      const [contains, undecided, end] = stdout.split('\n')
      expect([code, contains, undecided, end]).toEqual([
        ...[1, `contains   ${west}`, expect.stringMatching(`^undecided  ${revoked} .*revoked`), ''],
      ])
      expect(stderr).toMatch(/undecided/)
    }
  })
  test('prints the signed answers as JSON', async () => {
    const { code, stdout } = await shell.geo([
      'zones',
      '10.5,50.5',
      '--prover',
      testAccount(0).address,
      '--json',
    ])
    const { body } = await world.post('/compute/v0/zones', {
      chainId: LOCAL_CHAIN.id,
      geometry: { type: 'Point', coordinates: [10.5, 50.5] },
      zones: { prover: testAccount(0).address },
    })
    const found = JSON.parse(stdout)
    expect([code, found.results.map(({ inputRefs }: any) => inputRefs)]).toEqual([
      ...[0, body.results.map(({ inputRefs }: any) => inputRefs)],
    ])
    expect(found.results[0]).toMatchObject({ result: true, attestation: { data: expect.any(String) } })
  })
  test('reports that more zones are undecided than it prints', async () => {
    const prover = testAccount(9).address
    await insertRecords(
      world.databaseUrl,
      Array.from({ length: 101 }, () => ({
        ...{ chain: LOCAL_CHAIN.slug, prover: prover.toLowerCase(), geometry: null },
      })),
      1_000,
    )
    const { code, stdout, stderr } = await shell.geo(['zones', '10.5,50.5', '--prover', prover])
    expect([code, stdout.trim().split('\n').length]).toEqual([1, 100])
    expect(stderr).toMatch(/^More /m)
  })
  test('refuses a request without zones, or with two kinds of them', async () => {
    for (const args of [[], ['--uids', 'zones.txt', ...SCHEMA], ['--uids', 'none.txt']])
      expect(await shell.geo(['zones', '10.5,50.5', ...args])).toMatchObject({ code: 2, stdout: '' })
  })
})
