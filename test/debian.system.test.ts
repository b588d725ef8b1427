import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { LOCAL_CHAIN, nodeBinary } from '../dev/chain'
import { preparedState } from './chains'
import { temporaryFolder } from './database'
import { POSTGRES_FILES, REDIS, missing } from './servers'

/**
 * Runs the page docs/operations/debian.md, command by command, on a temporary copy of this machine's files
 * with its own network, under a systemd of its own. Packages, Node and the program are those of this machine.
 * A local chain replaces Base Sepolia, and Caddy creates its own certificate.
 */
const PAGE = 'docs/operations/debian.md'
/** Lines that need the internet, or depend on a line that does. */
const FROM_OUTSIDE =
  /^(apt-get|curl -fsSLO? (.*)https:\/\/nodejs\.org|sha256sum|git |npm (ci|run build)|rm -r \/opt\/geo-1$)/
const commands = [...readFileSync(PAGE, 'utf8').matchAll(/```sh\n(.*?)```/gs)].map(([, text]) => text!)

const lacking = missing({
  ...POSTGRES_FILES,
  'redis-server': REDIS,
  caddy: '/usr/bin/caddy',
  curl: '/usr/bin/curl',
  'postgresql-common': '/etc/postgresql/15/main/postgresql.conf',
  systemd: '/usr/lib/systemd/systemd',
})
const isAllowed =
  lacking.length === 0 &&
  spawnSync('unshare', ['--mount', '--net', '--pid', '--fork', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt'])
    .status === 0
const needs = isAllowed ? '' : ` (needs ${lacking.join(', ') || 'a root that may mount'})`

const WITHOUT_POSTGRES = 'Postgres is stopped.'
/** The units start before Postgres does, as they may after a boot. systemd retries, and then they recover. */
const postgresLast = `
      journalctl --quiet --output cat -u geo-migrate
      echo '${WITHOUT_POSTGRES}'
      systemctl stop geo-api 'geo-indexer@*' geo-migrate postgresql
      systemctl start geo-migrate geo-indexer@base-sepolia geo-api &
      until journalctl --quiet --output cat -u geo-migrate | grep -q 'status=1/FAILURE'; do sleep 0.1; done
      systemctl start postgresql
      wait $! || true
      until systemctl is-active --quiet geo-migrate; do sleep 0.1; done
      until curl -fsS https://geo.example/ready > /tmp/ready; do sleep 0.2; done
      journalctl --quiet --output cat -u geo-migrate`

test.skipIf(!isAllowed)(
  `the Debian page leads from packages to a response of /ready through Caddy, also if Postgres starts last${needs}`,
  { timeout: 300_000 },
  async () => {
    const folder = temporaryFolder()
    const existed = existsSync('/etc/geo/settings.env')
    const project = path.resolve('.')
    const state = preparedState(LOCAL_CHAIN)
    expect(state, 'the local chain is prepared').toBeDefined()
    const text = commands
      .join('\n')
      .split('\n')
      .map((line) => (FROM_OUTSIDE.test(line) ? `: ${line.replaceAll(/["|$>()]/g, '')}` : line))
      .join('\n')
      .replace(/^RPC_URL_BASE_SEPOLIA=.*$/m, 'RPC_URL_BASE_SEPOLIA=http://127.0.0.1:8545')
      // Waits before the first request, because Caddy creates its own certificates and the indexer needs
      // time.
      .replace(
        /^(systemctl reload-or-restart caddy)$/m,
        `printf '{\\nlocal_certs\\nskip_install_trust\\n}\\n' | cat - /etc/caddy/Caddyfile > /tmp/Caddyfile; cp /tmp/Caddyfile /etc/caddy/Caddyfile\n$1`,
      )
      .replace(
        /^(curl -fsS https:\/\/geo\.example\/(?:health|ready))$/gm,
        'until $1; do sleep 0.2; done; echo',
      )
    const inside = `
      export PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin REPOSITORY=- CURL_CA_BUNDLE=/var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt
      echo '127.0.0.1 localhost geo.example' > /etc/hosts
      mkdir -p /opt/geo-1 /opt/geo-2 /var/lib/prometheus/node-exporter
      for release in 1 2; do
        mount --bind ${project} /opt/geo-$release
        mount -o remount,bind,ro /opt/geo-$release
      done
      ${nodeBinary()} --host 127.0.0.1 --port 8545 --chain-id ${LOCAL_CHAIN.id} --load-state ${state} --gas-limit 1000000000 --quiet &
      # An archive like that of Node, whose files belong to the user that made it.
      mkdir -p /page/node-v22.0.0/bin /page/node-v22.0.0/lib
      touch /page/node-v22.0.0/bin/of-node
      tar -cJf /tmp/node-v22.0.0-linux-x64.tar.xz --owner=1000 --group=1000 -C /page node-v22.0.0
      set -e
      ${text}
      stat --format 'owner of %n: %U' /usr/bin /usr/lib /usr/bin/of-node
      runuser -u nobody -- cat /var/lib/prometheus/node-exporter/geo.prom
      api=$(systemctl show --property MainPID --value geo-api)
      for secret in /proc/$api/environ /proc/$api/mem; do
        runuser -u geo -- head -c 0 $secret && echo "readable: $secret"
      done || true
      ${postgresLast}
    `
    writeFileSync(path.join(folder, 'inside.sh'), inside)
    // A systemd in a container of its own. It runs no unit of this machine until the page starts one.
    const unit = `
      [Unit]
      Requires=basic.target
      After=basic.target
      [Service]
      Type=oneshot
      TimeoutStartSec=infinity
      ExecStart=/bin/bash /page/inside.sh
      ExecStopPost=/bin/sh -c 'echo "$EXIT_STATUS" > /page/code; journalctl --no-pager _TRANSPORT=stdout + _TRANSPORT=journal --priority notice > /page/journal; exec systemctl exit --no-block'
      StandardOutput=append:/page/output
      StandardError=append:/page/output
    `
    writeFileSync(path.join(folder, 'page.service'), unit.replaceAll(/^ +/gm, ''))
    const root = `
      set -e
      mount -t tmpfs tmpfs /mnt
      mkdir /mnt/upper /mnt/work /mnt/root
      mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root
      cd /mnt/root
      mount -t proc proc proc
      mount --rbind /sys sys
      mount --rbind /dev dev
      mount -t tmpfs tmpfs run
      mkdir -p page
      mount --bind ${folder} page
      rm -f etc/systemd/system/*.wants/*
      for unit in systemd-sysctl systemd-binfmt systemd-modules-load systemd-udevd systemd-random-seed; do
        ln -sf /dev/null etc/systemd/system/$unit.service
      done
      # A system that boots empties /tmp, where this clone may be.
      mkdir -p etc/tmpfiles.d
      : > etc/tmpfiles.d/tmp.conf
      test ${process.execPath} -ef /usr/bin/node || { rm -f usr/bin/node; cp ${process.execPath} usr/bin/node; }
      cp page/page.service etc/systemd/system/
      pivot_root . mnt
      umount --lazy /mnt
      mount --make-rshared /
      exec env -i container=test /usr/lib/systemd/systemd --system --unit=page.service
    `
    const child = spawn(
      'unshare',
      ['--mount', '--net', '--pid', '--uts', '--ipc', '--fork', '--kill-child', 'sh', '-c', root],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    )
    onTestFinished(() => void child.kill('SIGKILL'))
    let output = ''
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
    await new Promise((resolve) => child.once('exit', resolve))
    const read = (name: string) =>
      existsSync(path.join(folder, name)) ? readFileSync(path.join(folder, name), 'utf8') : ''
    output += read('output')
    const journal = read('journal')
    const code = read('code').trim()
    expect([code, code === '0' ? '' : `${output}\n${journal}`.slice(-8_000)]).toEqual(['0', ''])
    const [, ready] = /^(\{"status":"ready".*)$/m.exec(output)!
    expect(JSON.parse(ready!)).toMatchObject({
      signer: { status: 'ready' },
      chains: { 'base-sepolia': { fresh: true } },
    })
    const [first, later] = output.split(`\n${WITHOUT_POSTGRES}\n`)
    const failure = 'geo-migrate.service: Main process exited, code=exited, status=1/FAILURE'
    const migrations = (text: string) => text.match(/^Finished geo-migrate\.service/gm)?.length
    // `systemctl restart` migrates again.
    expect([first!.includes(failure), migrations(first!)]).toEqual([false, 3])
    expect([later!.includes(failure), migrations(later!)]).toEqual([true, 4])
    expect(output).not.toContain('readable: ')
    expect(output).toContain('0 attestations restored.')
    expect(output).toMatch(/^snapshot-\d{4}-/m)
    expect(output.match(/(?<=^owner of .*: )\w+$/gm)).toEqual(['root', 'root', 'root'])
    expect(output).toMatch(/^geo_backup_time_seconds \d+$/m)
    expect(existsSync('/etc/geo/settings.env'), 'nothing is left on this machine').toBe(existed)
  },
)
