import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Store } from '../api/store/store'
import { startApi } from './api'
import { MISSING_PACKAGES, changed, startCluster, type Cluster } from './cluster'
import { emptyFolder, run } from './servers'
import { rows } from './database'
import { insertRecords, uidOf } from './records'
import { needing } from './needs'

/** Runs the recipe of docs/operations/backups.md, with pgBackRest from Debian. */
const PGBACKREST = '/usr/bin/pgbackrest'
const missing = [...MISSING_PACKAGES, ...(existsSync(PGBACKREST) ? [] : ['pgbackrest'])]
needing(missing).describe('pgBackRest', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster(0)
  })
  afterAll(() => cluster?.stop())

  test('restores to a point in time without repeating a state, so that earlier ETags are invalid', async () => {
    const { folder } = cluster
    const { postgres, url, data, port } = cluster.servers[0]!
    const config = path.join(folder, 'pgbackrest.conf')
    const own = (name: string) => {
      const made = path.join(folder, `backups-${name}`)
      mkdirSync(made)
      emptyFolder(made)
      return made
    }
    writeFileSync(
      config,
      changed('ops/pgbackrest.conf', {
        '/var/lib/pgbackrest': own('repository'),
        '/var/log/pgbackrest': own('log'),
        '/tmp/pgbackrest': own('lock'),
        '/var/lib/postgresql/15/main': data,
        'pg1-port=5432': `pg1-port=${port}`,
        '/var/run/postgresql': data,
      }),
    )
    const backrest = (...args: string[]) => run(PGBACKREST, `--config=${config}`, '--stanza=geo', ...args)
    await rows(url, `ALTER SYSTEM SET archive_mode = 'on'`)
    await rows(
      url,
      `ALTER SYSTEM SET archive_command = '${PGBACKREST} --config=${config} --stanza=geo archive-push %p'`,
    )
    await postgres.kill()
    await postgres.start()
    backrest('stanza-create')
    backrest('check')
    backrest('--type=full', 'backup')

    const api = await startApi({ databaseUrl: url })
    const list = async () => {
      const response = await fetch(`${api.url}/api/v0/location-records`)
      const { data: found } = (await response.json()) as { data: { uid: string }[] }
      return { etag: response.headers.get('etag'), uids: found.map(({ uid }) => uid) }
    }
    const store = new Store(url, () => {})
    const state = async () => (await store.recordStates()).find(({ chain }) => chain === 'celo')
    try {
      await insertRecords(url, [{ uid: uidOf(1) }], 1)
      // pgBackRest counts whole seconds, so the backup must end in an earlier second.
      await rows(url, 'SELECT pg_sleep(1.1)')
      const [moment] = await rows<{ now: string }>(url, 'SELECT clock_timestamp()::text AS now')
      await insertRecords(url, [{ uid: uidOf(2) }], 2)
      const before = { list: await list(), state: await state() }
      expect(before.list.uids).toHaveLength(2)
      await rows(url, 'SELECT pg_switch_wal()')
      await expect
        .poll(
          async () =>
            (
              await rows(url, 'SELECT FROM pg_stat_archiver WHERE last_archived_time > $1::timestamptz', [
                moment!.now,
              ])
            ).length,
        )
        .toBe(1)

      // A fast shutdown: pgBackRest does not restore under a server that may be running.
      await postgres.kill('SIGINT')
      backrest('--delta', '--type=time', `--target=${moment!.now}`, '--target-action=promote', 'restore')
      await postgres.start()
      await expect
        .poll(() => rows(url, 'SELECT pg_is_in_recovery() AS standby').catch(() => []))
        .toEqual([{ standby: false }])
      await expect
        .poll(() =>
          list().then(
            ({ uids }) => uids,
            () => [],
          ),
        )
        .toEqual([uidOf(1)])
      // Another record gets the change id of the lost one.
      await insertRecords(url, [{ uid: uidOf(3) }], 3)
      const after = { list: await list(), state: await state() }
      expect(after.state!.revision).toBe(before.state!.revision)
      expect(after.state!.since.getTime()).toBeGreaterThan(before.state!.since.getTime())
      expect(after.list.uids).toEqual([uidOf(3), uidOf(1)])
      expect(after.list.etag).not.toBe(before.list.etag)
    } finally {
      await api.close()
      await store.close()
    }
  })
})
