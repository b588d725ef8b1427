'use strict'
// Runs before `npm start`, `npm test` and others: installs packages and, without --no-build, builds what is missing or
// outdated. Written in old JavaScript, so that a Node version that is too old for the rest can still report that.
var fs = require('fs')
var path = require('path')
var childProcess = require('child_process')

var root = path.join(__dirname, '..')
process.chdir(root)

var wanted = /(\d+)\.(\d+)/.exec(JSON.parse(fs.readFileSync('package.json', 'utf8')).engines.node)
var running = /^v(\d+)\.(\d+)/.exec(process.version)
var enough =
  Number(running[1]) > Number(wanted[1]) ||
  (running[1] === wanted[1] && Number(running[2]) >= Number(wanted[2]))
if (!enough)
  stop(
    'Node ' +
      wanted[0] +
      ' or newer is needed, this is ' +
      process.version +
      '. Install a current Node from nodejs.org and try again.',
  )

/** What `npm start` needs. Tests, benchmarks and the linter need all packages, also those of ops/optional. */
var LOCAL = [
  '--omit=dev',
  '--include-workspace-root',
  '--workspace=packages',
  '--workspace=dev',
  '--workspace=web',
]
/** npm's list of what it has installed, which it writes last. */
var LIST = 'node_modules/.package-lock.json'
var hasAll = fs.existsSync(LIST) && fs.readFileSync(LIST, 'utf8').indexOf('"node_modules/vitest"') >= 0
var local = !hasAll && /^pre(start|reset)$/.test(process.env.npm_lifecycle_event || '')

if (newest(['package-lock.json']) > newest([LIST]) || (!hasAll && !local)) {
  say('Installing packages (half a minute or so the first time) ...')
  var since = Date.now()
  var telling = setInterval(function () {
    say('  installing packages ... ' + Math.round((Date.now() - since) / 1000) + ' s')
  }, 2500)
  run(
    (fs.existsSync('node_modules') ? ['install', '--no-save'] : ['ci']).concat(local ? LOCAL : []),
    'The packages could not be installed: see the lines above.',
    function () {
      clearInterval(telling)
      fs.utimesSync(LIST, new Date(), new Date())
      build()
    },
  )
} else build()

function build() {
  if (
    process.argv[2] !== '--no-build' &&
    newest([
      'src',
      'api',
      'dev',
      'bench',
      'web',
      'packages/build.mjs',
      'packages/library.mjs',
      'packages/client/src',
      'packages/client/rolldown.config.mjs',
      'packages/client/kernel-plugins.mjs',
      'packages/client/exact-math.mjs',
      'packages/mcp/src',
      'packages/mcp/rolldown.config.mjs',
      'packages/cli/src',
      'packages/cli/rolldown.config.mjs',
      'tsconfig.json',
      'tsconfig.dist.json',
      'package-lock.json',
    ]) > newest(['dist/.built'])
  ) {
    say('Building ...')
    run(['run', '--silent', 'build'], 'The build failed: see the lines above.', function () {
      removeStale('lib', 'src')
      removeStale('dist', '.') // but for what Vite makes, which empties its folder itself
      fs.writeFileSync('dist/.built', '')
    })
  }
}

/** Removes the build output of sources that are gone, which an incremental build keeps. */
function removeStale(built, sources) {
  fs.readdirSync(built).forEach(function (name) {
    var file = path.join(built, name)
    var source = path.join(sources, name)
    if (fs.statSync(file).isDirectory())
      return file === path.join('dist', 'web') ? undefined : removeStale(file, source)
    var script = /^(.*)\.js(\.map)?$/.exec(name)
    if (script && !fs.existsSync(path.join(sources, script[1] + '.ts'))) fs.rmSync(file)
  })
}

/** The time of the newest change below these paths, in milliseconds; 0 when none exists. */
function newest(paths) {
  return paths.reduce(function (latest, file) {
    if (!fs.existsSync(file)) return latest
    var stat = fs.statSync(file)
    if (!stat.isDirectory()) return Math.max(latest, stat.mtimeMs)
    return Math.max(
      latest,
      newest(
        fs.readdirSync(file).map(function (name) {
          return path.join(file, name)
        }),
      ),
    )
  }, 0)
}

/** Runs npm, then calls `next`; ends with the problem where npm fails. */
function run(npmArguments, problem, next) {
  var quiet = ['--no-audit', '--no-fund', '--loglevel=error']
  var npm = process.env.npm_execpath
  var child = npm
    ? childProcess.spawn(process.execPath, [npm].concat(npmArguments, quiet), { stdio: 'inherit' })
    : childProcess.spawn('npm', npmArguments.concat(quiet), {
        stdio: 'inherit',
        shell: process.platform === 'win32',
      })
  child.on('exit', function (code) {
    if (code !== 0) stop(problem)
    next()
  })
}

function say(line) {
  console.log(line)
}

function stop(line) {
  console.error(line)
  process.exit(1)
}
