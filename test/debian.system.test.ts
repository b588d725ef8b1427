import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { LOCAL_CHAIN, nodeBinary } from '../dev/chain'
import { preparedState } from './chains'
import { removeFolder, temporaryFolder } from './database'
import { POSTGRES_FILES, REDIS, missing } from './servers'

/**
 * Runs the page docs/operations/debian.md, command by command, on a temporary copy of this machine's files
 * with its own network. Packages, Node and the program are those of this machine. A local chain replaces Base
 * Sepolia, Caddy creates its own certificate, and test/systemctl.mjs replaces systemd.
 */
const PAGE = 'docs/operations/debian.md'
/** Lines that need the internet, or depend on such a line. */
const FROM_OUTSIDE =
  /^(apt-get|curl -fsSLO? (.*)https:\/\/nodejs\.org|sha256sum|tar|git |npm (ci|run build)|cd \/tmp$|rm -r \/opt\/geo-1$)/
const commands = [...readFileSync(PAGE, 'utf8').matchAll(/```sh\n(.*?)```/gs)].map(([, text]) => text!)

const lacking = missing({
  ...POSTGRES_FILES,
  'redis-server': REDIS,
  caddy: '/usr/bin/caddy',
  curl: '/usr/bin/curl',
  'postgresql-common': '/etc/postgresql/15/main/postgresql.conf',
})
const isAllowed =
  lacking.length === 0 &&
  spawnSync('unshare', ['--mount', '--net', '--pid', '--fork', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt'])
    .status === 0
const needs = isAllowed ? '' : ` (needs ${lacking.join(', ') || 'a root that may mount'})`

const commandsAsTheyStand = () => commands
const UNITS = 'systemctl enable --now geo-migrate'
/** The units start before Postgres, so that they must wait for it. */
const postgresLast = () => {
  const database = commands.find((command) => command.includes('createdb'))!
  const units = commands.find((each) => each.includes(UNITS))!
  return commands
    .filter((each) => each !== database)
    .flatMap((each) =>
      each === units ? [each.replace(/^(.*geo-migrate .*)$/m, '$1 &'), database, 'wait $!'] : [each],
    )
}

test.skipIf(!isAllowed).each([
  ['unchanged', commandsAsTheyStand],
  ['with Postgres last', postgresLast],
])(
  `the page, %s, leads from packages to an answer of /ready through Caddy${needs}`,
  { timeout: 300_000 },
  async (_, ordered) => {
    const folder = temporaryFolder()
    const existed = existsSync('/etc/geo/settings.env')
    const project = path.resolve('.')
    const state = preparedState(LOCAL_CHAIN)
    expect(state, 'the local chain is prepared').toBeDefined()
    const text = ordered()
      .join('\n')
      .split('\n')
      .map((line) => (FROM_OUTSIDE.test(line) ? `: ${line.replaceAll(/["|$>()]/g, '')}` : line))
      .join('\n')
      .replace(/^RPC_URL_BASE_SEPOLIA=.*$/m, 'RPC_URL_BASE_SEPOLIA=http://127.0.0.1:8545')
      // Before the first request: certificates come from Caddy itself, and the indexer needs time.
      .replace(
        /^(systemctl reload-or-restart caddy)$/m,
        `printf '{\\nlocal_certs\\nskip_install_trust\\n}\\n' | cat - /etc/caddy/Caddyfile > /tmp/Caddyfile; cp /tmp/Caddyfile /etc/caddy/Caddyfile\n$1`,
      )
      .replace(
        /^(curl -fsS https:\/\/geo\.example\/(?:health|ready))$/gm,
        'until $1; do sleep 0.2; done; echo',
      )
    const inside = `
      export PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin REPOSITORY=- XDG_DATA_HOME=/var/lib CURL_CA_BUNDLE=/var/lib/caddy/pki/authorities/local/root.crt
      perl -MSocket -e 'socket(S, AF_INET, SOCK_DGRAM, 0); $r = pack("a16s", "lo", 0x41); ioctl(S, 0x8914, $r) or die $!'
      echo '127.0.0.1 localhost geo.example' > /etc/hosts
      test /usr/bin/node -ef ${process.execPath} || ln -sf ${process.execPath} /usr/bin/node
      cp ${project}/test/systemctl.mjs /usr/local/bin/systemctl
      cp ${project}/test/systemctl.mjs /usr/local/bin/systemd-run
      chmod +x /usr/local/bin/systemctl /usr/local/bin/systemd-run
      mkdir -p /opt/geo-1 /opt/geo-2 /var/lib/prometheus/node-exporter
      for release in 1 2; do
        mount --bind ${project} /opt/geo-$release
        mount -o remount,bind,ro /opt/geo-$release
      done
      ${nodeBinary()} --host 127.0.0.1 --port 8545 --chain-id ${LOCAL_CHAIN.id} --load-state ${state} --gas-limit 1000000000 --quiet &
      set -e
      ${text}
      cat /var/lib/prometheus/node-exporter/geo.prom
      sed s/^/migrated:/ /run/units/geo-migrate.ended
    `
    writeFileSync(path.join(folder, 'inside.sh'), inside)
    const root = `
      set -e
      mount -t tmpfs tmpfs /mnt
      mkdir /mnt/upper /mnt/work /mnt/root
      mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root
      mount -t proc proc /mnt/root/proc
      mount --rbind /dev /mnt/root/dev
      mount -t tmpfs tmpfs /mnt/root/run
      mkdir -p /mnt/root/run/postgresql /mnt/root/run/redis
      chown postgres: /mnt/root/run/postgresql
      cp ${path.join(folder, 'inside.sh')} /mnt/root/inside.sh
      exec chroot /mnt/root /bin/bash /inside.sh
    `
    const child = spawn(
      'unshare',
      ['--mount', '--net', '--pid', '--fork', '--kill-child', 'sh', '-c', root],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
    const code = await new Promise((resolve) => child.once('exit', resolve))
    removeFolder(folder)
    expect([code, code === 0 ? '' : output.slice(-5_000)]).toEqual([0, ''])
    const [, ready] = /^(\{"status":"ready".*)$/m.exec(output)!
    expect(JSON.parse(ready!)).toMatchObject({
      signer: { status: 'ready' },
      chains: { 'base-sepolia': { fresh: true } },
    })
    // 1 while there is no database, then 0, and 0 again at `systemctl restart`.
    const tries = [...output.matchAll(/^migrated:(\d)$/gm)].map(([, code]) => code)
    expect([tries.slice(-2), tries.includes('1')]).toEqual([['0', '0'], ordered !== commandsAsTheyStand])
    expect(output).toMatch(/^snapshot-\d{4}-/m)
    expect(output).toMatch(/^geo_backup_time_seconds \d+$/m)
    expect(existsSync('/etc/geo/settings.env'), 'nothing is left on this machine').toBe(existed)
  },
)
