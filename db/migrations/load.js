'use strict'
const { readFileSync, readdirSync } = require('node:fs')
const path = require('node:path')

/**
 * TypeORM's migrations, from the SQL files in this directory: `<timestamp>-<Name>.up.sql` and `.down.sql`. The
 * table `migrations` of a database records each as `<Name><timestamp>`, and TypeORM runs the missing ones.
 * Files that SHA256SUMS lists are frozen, because databases keep their result. A change is a new migration.
 */
module.exports = readdirSync(__dirname)
  .filter((file) => file.endsWith('.up.sql'))
  .sort()
  .map((file) => {
    const [, timestamp, name] = /^(\d{13})-(\w+)\.up\.sql$/.exec(file)
    // One query of several statements, which Postgres runs in order.
    const run = (direction) => (database) =>
      database.query(readFileSync(path.join(__dirname, `${timestamp}-${name}.${direction}.sql`), 'utf8'))
    return class {
      name = `${name}${timestamp}`
      up = run('up')
      down = run('down')
    }
  })
