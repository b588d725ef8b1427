import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { temporaryFolder } from './database'

/**
 * Tests `npm run release` in a clone of this repository, without a network and without changes to this
 * folder.
 */
const NAME = 'Release test'
const env = {
  ...process.env,
  ...{ GIT_AUTHOR_NAME: NAME, GIT_AUTHOR_EMAIL: 'test@example.org' },
  ...{ GIT_COMMITTER_NAME: NAME, GIT_COMMITTER_EMAIL: 'test@example.org' },
}
let folder: string
const run = (program: string, ...options: string[]) =>
  execFileSync(program, options, { cwd: folder, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
const release = (version: string) => run(process.execPath, 'dev/release.mjs', version)
const read = (file: string) => readFileSync(path.join(folder, file), 'utf8')
const versionOf = (file: string) => (JSON.parse(read(file)) as { version: string }).version
const describeChange = (name: string, text: string) => {
  writeFileSync(path.join(folder, 'changelog/unreleased', name), `${text}\n`)
  run('git', 'add', '--all')
  run('git', 'commit', '--quiet', '-m', `test: describe ${name}`)
}

beforeAll(() => {
  folder = temporaryFolder()
  execFileSync('git', ['clone', '--quiet', '--depth', '1', `file://${process.cwd()}`, folder])
  symlinkSync(path.resolve('node_modules'), path.join(folder, 'node_modules'), 'junction')
  for (const each of ['dev', 'packages/cli'])
    symlinkSync(path.resolve(each, 'node_modules'), path.join(folder, each, 'node_modules'), 'junction')
  run('git', 'switch', '--quiet', '--create', 'release-test')
  // Removes the project's unreleased changes, because the tests write their own.
  run('git', 'rm', '--quiet', '--ignore-unmatch', 'changelog/unreleased/*.md')
  run('git', 'commit', '--quiet', '--allow-empty', '-m', 'test: remove all changes')
}, 120_000)

test('the release script refuses a version, change or tree that is not ready', () => {
  expect(() => release('1.0')).toThrow(expect.objectContaining({ status: 2 }) as Error)
  describeChange('odd-name.md', 'A change.')
  expect(() => release('9.0.0')).toThrow(expect.objectContaining({ status: 2 }) as Error)
  run('git', 'rm', '--quiet', 'changelog/unreleased/odd-name.md')
  expect(() => release('9.0.0')).toThrow(expect.objectContaining({ status: 2 }) as Error)
  run('git', 'commit', '--quiet', '-m', 'test: remove the change')
  expect(run('git', 'status', '--porcelain')).toBe('')
  expect(run('git', 'tag')).toBe('')
})

test('the release script writes changelog, versions, a commit and a tag', { timeout: 300_000 }, () => {
  describeChange('fixed-rings.md', 'Rings are closed.\nIn two lines.')
  describeChange('advisory-areas.md', '**Areas were wrong** (all versions).')
  release('9.1.0')
  expect(read('CHANGELOG.md')).toMatch(
    /\n## 9\.1\.0 \(\d{4}-\d\d-\d\d\)\n\n### Advisories\n- \*\*Areas were wrong\*\* \(all versions\)\.\n\n### Fixed\n- Rings are closed\.\n {2}In two lines\.\n/,
  )
  expect(readdirSync(path.join(folder, 'changelog/unreleased'))).toEqual(['.gitkeep'])
  for (const file of ['package.json', 'package-lock.json', 'packages/client/package.json'])
    expect(versionOf(file), file).toBe('9.1.0')
  expect(JSON.parse(read('packages/cli/package.json'))).toMatchObject({
    devDependencies: { '@geospatial-attestation/client': '9.1.0' },
  })

  const files = readdirSync(path.join(folder, 'dist/release')).sort()
  expect(files).toEqual([
    'SHA256SUMS',
    ...['cli', 'client', 'contracts', 'mcp', 'witness'].map(
      (name) => `geospatial-attestation-${name}-9.1.0.tgz`,
    ),
    'sbom-9.1.0.cdx.json',
  ])
  const sums = files.slice(1).map((file) => {
    const sum = createHash('sha256').update(readFileSync(path.join(folder, 'dist/release', file)))
    return `${sum.digest('hex')}  ${file}\n`
  })
  expect(read('dist/release/SHA256SUMS')).toBe(sums.join(''))
  expect(JSON.parse(read('dist/release/sbom-9.1.0.cdx.json'))).toMatchObject({
    bomFormat: 'CycloneDX',
    metadata: { component: { name: 'geospatial-attestation-service', version: '9.1.0' } },
  })
  expect(run('git', 'status', '--porcelain')).toBe('')
  expect(run('git', 'log', '-1', '--format=%s %D')).toContain('release: publish version 9.1.0')
  expect(run('git', 'cat-file', '-t', 'v9.1.0').trim()).toBe('tag')
})
