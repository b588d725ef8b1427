import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { apiConnections } from '../api/store/pool'
import { CHAINS } from '../src/chains'
import { settingNames } from '../src/config'
import { sessionsAt } from '../src/postgres'
import { ROWS, type Setting } from '../src/settings/table'
import { needing } from './needs'
import { missing } from './servers'

/** Tests that the images, commands, ports, paths and settings in ops/ and docker-compose.yml exist. */
const read = (file: string) => readFileSync(file, 'utf8')
const UNITS = readdirSync('ops/systemd').filter((file) => file.endsWith('.service'))
const settings = new Set(settingNames())
/** True if an image has this program: it is built from an existing source. */
const isProgram = (path: string) =>
  existsSync(
    path
      .replace(/^lib\//, 'src/')
      .replace(/^dist\//, '')
      .replace(/\.js$/, '.ts'),
  )
/** Secrets that other processes than the API read too. */
const SHARED = ['DATABASE_URL', 'RPC_URL_<CHAIN>', 'GATEWAY_URL_<CHAIN>']
/**
 * Settings that contain or name a secret of the API alone, whose files other processes must not be able to
 * read. The file of a sealed secret is read only by a process that uses it.
 */
const SECRETS = Object.values<Setting>(ROWS)
  .filter(({ name, secret }) => secret && !SHARED.includes(name))
  .flatMap(({ name, also, secret }) => [name, also ?? [], secret === 'open' ? `${name}_FILE` : []].flat())
const slugs = CHAINS.map(({ slug }) => slug)

const manifests: any[] = readdirSync('ops/kubernetes').flatMap((file) =>
  parseAllDocuments(read(`ops/kubernetes/${file}`)).map((document) => {
    expect(document.errors, file).toEqual([])
    return document.toJS() as object
  }),
)
const pods = manifests
  .filter(({ spec }) => spec?.template)
  .map(({ metadata, spec }) => ({
    name: metadata.name,
    labels: spec.template.metadata.labels,
    selector: spec.selector?.matchLabels,
    ...spec.template.spec,
  }))
const of = (kind: string) => manifests.filter((each) => each.kind === kind)

describe('the Kubernetes manifests', () => {
  test('define every object with a kind, a version and a unique name', () => {
    const versions: Record<string, string> = {
      Job: 'batch/v1',
      Deployment: 'apps/v1',
      Service: 'v1',
      HorizontalPodAutoscaler: 'autoscaling/v2',
      PodDisruptionBudget: 'policy/v1',
      NetworkPolicy: 'networking.k8s.io/v1',
    }
    for (const { kind, apiVersion } of manifests) expect([kind, apiVersion]).toEqual([kind, versions[kind]])
    const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    expect(new Set(names).size).toBe(names.length)
  })
  test('run the image in unprivileged pods, with existing settings and keys in files', () => {
    expect(pods.length).toBe(2 + slugs.length)
    for (const pod of pods) {
      const [container, ...others] = pod.containers
      expect(others).toEqual([])
      expect(container.image).toBe('geospatial-attestation-service')
      expect(container.command[0]).toBe('node')
      expect(isProgram(container.command[1]), container.command[1]).toBe(true)
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      expect(pod.securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      })
      expect(container.resources.limits.memory).toBeDefined()
      for (const { name } of container.env ?? []) expect(settings.has(name), name).toBe(true)
      if (pod.selector) expect(pod.selector).toEqual(pod.labels)
      expect(JSON.stringify(container)).not.toContain('SIGNER_PRIVATE_KEY')
    }
  })
  test('set the memory and the temporary files that the processes of the API need', () => {
    const { containers, volumes } = pods.find(({ name }) => name === 'geo-api')!
    const [{ env, resources }] = containers
    const processes = Number(env.find((each: any) => each.name === 'API_PROCESSES').value)
    const gigabytes = (text: string) => (Number(text.replace(/Gi$/, '')) * 2 ** 30) / 1e9
    const [, each] = /plan (\d+) GB/.exec(read('docs/operations/deploying.md'))!
    // The primary process needs the rest.
    expect(gigabytes(resources.limits.memory)).toBeGreaterThan(processes * Number(each))
    const { emptyDir } = volumes.find(({ name }: any) => name === 'tmp')
    expect(gigabytes(emptyDir.sizeLimit)).toBeGreaterThan(processes * 4)
    expect(Number(resources.requests.cpu)).toBe(processes)
  })
  test('probe existing routes of the API on its port, for scaling and protection', () => {
    const api = pods.find(({ name }) => name === 'geo-api')!
    const [{ env, ports, volumeMounts, ...probes }] = api.containers
    const value = (name: string) => env.find((each: any) => each.name === name).value
    expect(String(ports[0].containerPort)).toBe(value('PORT'))
    // Routes in the room `service` have no rate limit.
    const routes = read('api/service/monitoring.ts') + read('api/service/about.ts')
    for (const probe of ['readinessProbe', 'livenessProbe', 'startupProbe']) {
      const { path, port } = probes[probe].httpGet
      expect(port).toBe(ports[0].name)
      expect(routes).toContain(`'${path}'`)
    }
    expect(value('SIGNER_KEY_FILE')).toBe(`${volumeMounts[0].mountPath}/signer`)
    expect(of('Service')[0].spec.selector).toEqual(api.labels)
    expect(of('PodDisruptionBudget')[0].spec.selector.matchLabels).toEqual(api.labels)
    expect(of('HorizontalPodAutoscaler')[0].spec.scaleTargetRef.name).toBe(api.name)
    expect(of('HorizontalPodAutoscaler')[0].spec.minReplicas).toBeGreaterThan(
      of('PodDisruptionBudget')[0].spec.minAvailable,
    )
  })
  test('pass secrets and requests to the API only', () => {
    for (const { name, containers, labels } of pods) {
      const isApi = name === 'geo-api'
      const secrets = containers[0].envFrom.map(({ secretRef }: any) => secretRef.name)
      expect([name, secrets]).toEqual([name, isApi ? ['geo-settings', 'geo-api'] : ['geo-settings']])
      const policies = of('NetworkPolicy').filter(({ spec }) =>
        Object.entries(spec.podSelector.matchLabels).every(([label, value]) => labels[label] === value),
      )
      const ports = policies.flatMap(({ spec }) => spec.ingress.flatMap((each: any) => each.ports))
      expect([name, ports.map(({ port }) => port)]).toEqual([name, isApi ? ['http'] : []])
      // A policy that lists only one direction leaves the other direction open.
      for (const { spec } of policies) expect(spec.policyTypes).toEqual(['Ingress', 'Egress'])
    }
  })
  test('run an indexer and a spare for every chain', () => {
    const indexers = of('Deployment').filter(({ metadata }) => metadata.labels.part === 'indexer')
    expect(indexers.map(({ spec }) => spec.template.spec.containers[0].command[2])).toEqual(slugs)
    expect(new Set(indexers.map(({ spec }) => spec.replicas))).toEqual(new Set([2]))
  })
})
test('docker-compose.yml restarts every service, has health checks, and names existing commands and settings', () => {
  const { services } = parse(read('docker-compose.yml'), { merge: true }) as { services: Record<string, any> }
  for (const [name, service] of Object.entries(services)) {
    expect([name, service.restart]).toEqual([name, name === 'migrate' ? 'on-failure' : 'unless-stopped'])
    expect(service.healthcheck?.test, name).toBeDefined()
    if (service.build && service.command) expect(isProgram(service.command.split(' ')[1]), name).toBe(true)
    if (service.build)
      for (const setting of Object.keys(service.environment))
        expect(settings.has(setting), setting).toBe(true)
    // `env_file` sets all settings in all services: an empty value unsets it.
    if (service.build)
      expect([name, SECRETS.filter((secret) => service.environment[secret] !== '')]).toEqual([
        name,
        name === 'api' ? SECRETS : [],
      ])
  }
})
test('docker-compose.yml and the Debian guide let Postgres accept the connections of all processes', () => {
  const figure = (file: string, pattern: RegExp) => Number(pattern.exec(read(file))![1])
  const instances = figure('src/config.ts', /^const MOST_DEFAULT_PROCESSES = (\d+)$/m)
  const ofInstance = figure('docs/operations/deploying.md', /up to (\d+) connections to the primary/)
  // Postgres reserves 3 for superusers.
  const most = ofInstance * instances + 3 * slugs.length + 3
  expect(figure('docker-compose.yml', /max_connections=(\d+)/)).toBeGreaterThanOrEqual(most)
  expect(figure('docs/operations/debian.md', /max_connections = (\d+)/)).toBeGreaterThanOrEqual(most)
})
test('the image warms the compile cache with its own programs', () => {
  const warmed = [...read('Dockerfile').matchAll(/'\.\/(\S+?\.js)'/g)].map(([, file]) => file!)
  expect(warmed.map((file) => [file, isProgram(file)])).toEqual([
    ['lib/indexer/run.js', true],
    ['dist/api/copy.js', true],
  ])
})
describe('the systemd files', () => {
  test.each(UNITS)('in %s run a program of this project, unprivileged', (unit) => {
    const text = read(`ops/systemd/${unit}`)
    expect(isProgram(/^ExecStart=\/usr\/bin\/node (\S+)/m.exec(text)![1]!)).toBe(true)
    expect(text.includes(`UnsetEnvironment=${SECRETS.join(' ')}\n`)).toBe(unit !== 'geo-api.service')
    expect(text.includes('\nPrivateUsers=yes\n')).toBe(unit === 'geo-api.service')
    // A unit that requires another unit stops and restarts with it.
    expect(text).not.toContain('Requires=')
    for (const line of ['NoNewPrivileges=yes', 'ProtectSystem=strict', 'CapabilityBoundingSet=', 'User=geo'])
      expect(text.split('\n')).toContain(line)
    // Settings that begin with NODE_ configure Node itself.
    for (const [, name] of text.matchAll(/\b((?!NODE_)[A-Z]+(?:_[A-Z]+)+)=/g))
      expect(settings.has(name!), name).toBe(true)
  })
  test('let the API start without the file of a key', () => {
    const unit = read('ops/systemd/geo-api.service')
    for (const [, name] of unit.matchAll(/^LoadCredential=(\w+):/gm))
      expect(unit).toMatch(new RegExp(`^SetCredential=${name}:.`, 'm'))
  })
  test('write the time of a snapshot to a file that every user can read', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'node-exporter-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const unit = read('ops/systemd/geo-snapshot.service')
    const [, command] = /^ExecStartPost=\+-\/bin\/sh -c '(.*geo_backup_time_seconds.*)'$/m.exec(unit)!
    const here = command!.replaceAll('/var/lib/prometheus/node-exporter', folder).replaceAll('%%', '%')
    const [, umask] = /^UMask=(\d+)$/m.exec(unit)!
    const { status } = spawnSync('/bin/sh', ['-c', `umask ${umask}; ${here}`])
    expect([status, readdirSync(folder)]).toEqual([0, ['geo.prom']])
    const file = path.join(folder, 'geo.prom')
    expect(read(file)).toMatch(/^geo_backup_time_seconds \d{10}\n$/)
    expect(statSync(file).mode & 0o777).toBe(0o644)
  })
  test('pass the settings by geo-run without the secrets of the API', () => {
    const text = read('ops/systemd/geo-run')
    const programs = [...text.matchAll(/set -- (\S+)/g)].map(([, file]) => file!)
    expect(programs).toEqual(['lib/migrate.js', 'lib/indexer/commands.js'])
    expect(programs.every(isProgram)).toBe(true)
    expect(text).toContain('EnvironmentFile=/etc/geo/settings.env')
    expect(text).toContain(`UnsetEnvironment=${SECRETS.join(' ')}'`)
  })
  needing(missing({ systemd: '/usr/bin/systemd-analyze' })).test(
    'have no problem that systemd-analyze reports',
    () => {
      const { stderr, status } = spawnSync(
        'systemd-analyze',
        [
          'verify',
          'ops/systemd/geo-snapshot.timer',
          ...UNITS.map((unit) => `ops/systemd/${unit.replace('@.', '@celo.')}`.replace('@celo.', '@.')),
        ],
        { encoding: 'utf8' },
      )
      const ours = stderr
        .split('\n')
        .filter((line) => line.includes('geo-') && !/not executable|User .* not found/.test(line))
      expect([ours, status]).toEqual([[], status])
    },
  )
})
test('the configuration of Alertmanager suppresses only named tickets, while the database is down', () => {
  const { groups } = parse(read('ops/prometheus/alerts.yml')) as { groups: { rules: any[] }[] }
  const tickets = groups
    .flatMap(({ rules }) => rules)
    .filter(({ labels }) => labels.severity === 'ticket')
    .map(({ alert }) => alert)
  const { inhibit_rules: rules } = parse(read('ops/prometheus/alertmanager.yml')) as { inhibit_rules: any[] }
  expect(rules.map((rule) => rule.source_matchers)).toEqual([['alertname = "DatabaseDown"']])
  const [, names] = /^alertname =~ "([\w|]+)"$/.exec(rules[0].target_matchers.join())!
  expect(tickets).toEqual(expect.arrayContaining(names!.split('|')))
})
describe('the configuration of the proxies', () => {
  needing(missing({ haproxy: '/usr/sbin/haproxy' })).test('is valid for HAProxy', () => {
    const { status, stderr } = spawnSync('/usr/sbin/haproxy', ['-c', '-f', 'ops/haproxy.cfg'], {
      encoding: 'utf8',
    })
    expect([status, stderr]).toEqual([0, expect.not.stringMatching(/WARNING|ALERT/)])
  })
  needing(missing({ caddy: '/usr/bin/caddy' })).test('is valid for Caddy', () => {
    const { status, stderr } = spawnSync(
      'caddy',
      ['validate', '--config', 'ops/Caddyfile', '--adapter', 'caddyfile'],
      {
        encoding: 'utf8',
        env: { ...process.env, HOME: tmpdir() },
      },
    )
    expect([status, status ? stderr : '']).toEqual([0, ''])
  })
  test('forwards from Caddy to HAProxy, and from HAProxy to the port of the API', () => {
    const haproxy = read('ops/haproxy.cfg')
    expect(read('ops/Caddyfile')).toContain(`reverse_proxy 127.0.0.1:${/^ +bind :(\d+)/m.exec(haproxy)![1]}`)
    expect(new Set([...haproxy.matchAll(/server api-\d \S+:(\d+)/g)].map(([, port]) => port))).toEqual(
      new Set(['3000']),
    )
    expect(haproxy).toContain('httpchk GET /health')
  })
  test('sets the same PgBouncer parameters as the API and the indexers do by themselves', () => {
    const configured = (name: string) =>
      `${new RegExp(`^${name} = .*connect_query='(.*)'$`, 'm').exec(read('ops/pgbouncer.ini'))![1]!.replaceAll("''", "'")};`
    const setBy = (options: string) =>
      [...options.matchAll(/-c (\w+)=((?:\\.|\S)+)/g)].map(([, name, value]) => [
        name,
        value!.replace('\\', ''),
      ])
    for (const [database, options] of [
      ['api', apiConnections(1, {}).options],
      ['geo', ''],
    ] as const)
      for (const [name, value] of setBy(sessionsAt('postgres:///?options=', options).options))
        expect(configured(database)).toMatch(new RegExp(`SET ${name} = '?${value}'?;`))
    expect(configured('api')).toContain("SET statement_timeout = '5s'")
  })
})
