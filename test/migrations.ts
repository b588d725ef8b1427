import { createRequire } from 'node:module'
import { createOrmConfig } from '@subsquid/typeorm-config'
import type { Client } from 'pg'
import { DataSource } from 'typeorm'
import { rows } from './database'

/** Migrations from db/migrations/load.js, oldest first. */
export const MIGRATIONS = createRequire(__filename)('../db/migrations/load.js') as (new () => {
  readonly name: string
  readonly up: (database: Client) => Promise<unknown>
  readonly down: (database: Client) => Promise<unknown>
})[]

/** A connection of TypeORM's migration tool that knows only the first `count` migrations. */
export async function migrationTool(url: string, count = MIGRATIONS.length): Promise<DataSource> {
  process.env.DB_URL = url
  const config = createOrmConfig()
  delete process.env.DB_URL
  return new DataSource({ ...config, migrations: MIGRATIONS.slice(0, count) }).initialize()
}

/** Migrates up to the first `count` migrations. */
export async function migrateTo(url: string, count: number): Promise<void> {
  const source = await migrationTool(url, count)
  try {
    await source.runMigrations({ transaction: 'all' })
  } finally {
    await source.destroy()
  }
}

/** Number of migrations before this one. */
export const indexOf = (name: string) =>
  MIGRATIONS.findIndex((Migration) => new Migration().name.startsWith(name))

/** This project's part of a database's catalog, without PostGIS's. */
export const SCHEMA = `
  WITH ours AS (SELECT oid, nspname FROM pg_namespace WHERE nspname IN ('public', 'published')),
    extension AS (SELECT classid, objid FROM pg_depend WHERE deptype = 'e'),
    relation AS (
      SELECT pg_class.* FROM pg_class JOIN ours ON ours.oid = relnamespace
        LEFT JOIN pg_index ON indexrelid = pg_class.oid
      WHERE relkind IN ('r', 'v', 'S', 'i')
        AND ('pg_class'::regclass, coalesce(indrelid, pg_class.oid)) NOT IN (SELECT classid, objid FROM extension))
  SELECT 'schema' AS what, nspname::text AS name,
      concat_ws(' ', obj_description(oid, 'pg_namespace'), CASE nspname WHEN 'published' THEN
        (SELECT nspacl FROM pg_namespace WHERE oid = ours.oid) END) AS is FROM ours
  UNION ALL SELECT 'relation', oid::regclass::text, concat_ws(' ', relkind, relacl, obj_description(oid, 'pg_class'))
    FROM relation
  UNION ALL SELECT 'column', relation.oid::regclass || '.' || attname,
      concat_ws(' ', row_number() OVER (PARTITION BY attrelid ORDER BY attnum), format_type(atttypid, atttypmod),
        attnotnull, attidentity, attstattarget, pg_get_expr(adbin, adrelid), col_description(attrelid, attnum))
    FROM pg_attribute JOIN relation ON relation.oid = attrelid
      LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE attnum > 0 AND NOT attisdropped
  UNION ALL SELECT 'view', oid::regclass::text, pg_get_viewdef(oid) FROM relation WHERE relkind = 'v'
  UNION ALL SELECT 'index', oid::regclass::text, pg_get_indexdef(oid) FROM relation WHERE relkind = 'i'
  UNION ALL SELECT 'constraint', conrelid::regclass || '.' || conname, pg_get_constraintdef(pg_constraint.oid)
    FROM pg_constraint JOIN relation ON relation.oid = conrelid
  UNION ALL SELECT 'trigger', tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
  UNION ALL SELECT 'function', pg_proc.oid::regprocedure::text, concat_ws(' ', pg_get_functiondef(pg_proc.oid), proacl)
    FROM pg_proc JOIN ours ON ours.oid = pronamespace
    WHERE prokind = 'f' AND ('pg_proc'::regclass, pg_proc.oid) NOT IN (SELECT classid, objid FROM extension)
  ORDER BY 1, 2, 3`
export const schemaOf = (url: string) => rows<{ what: string; name: string; is: string }>(url, SCHEMA)
