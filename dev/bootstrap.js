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
    `Node ${wanted[0]} or newer is required, but this is ${process.version}. Install a current ` +
      'Node from nodejs.org and try again.',
  )

/** Packages of `npm start`. Tests, benchmarks and the linter need all, also those of ops/optional. */
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
var local = !hasAll && /^pre(start|quorum|reset|dev)$/.test(process.env.npm_lifecycle_event || '')

if (timeOf('package-lock.json') > timeOf(LIST) || (!hasAll && !local)) {
  say('Installing packages (half a minute or so the first time) ...')
  var since = process.uptime()
  var telling = setInterval(function () {
    say('  installing packages ... ' + Math.round(process.uptime() - since) + ' s')
  }, 2500)
  run(
    npm((fs.existsSync('node_modules') ? ['install', '--no-save'] : ['ci']).concat(local ? LOCAL : [])),
    'Could not install the packages with npm: see the lines above.',
    function () {
      clearInterval(telling)
      fs.utimesSync(LIST, new Date(), new Date())
      build()
    },
  )
} else build()

function build() {
  if (process.argv[2] !== '--no-build')
    run(
      childProcess.spawn(process.execPath, ['dev/build.mjs'], { stdio: 'inherit' }),
      'The build failed: see the lines above.',
      function () {},
    )
}

function timeOf(file) {
  return fs.existsSync(file) ? fs.statSync(file).mtimeMs : 0
}

function npm(npmArguments) {
  var quiet = ['--no-audit', '--no-fund', '--loglevel=error']
  var script = process.env.npm_execpath
  // pnpm, yarn and bun name themselves there. The lock file is npm's.
  return script && /npm-cli\.js$/.test(script)
    ? childProcess.spawn(process.execPath, [script].concat(npmArguments, quiet), { stdio: 'inherit' })
    : childProcess.spawn('npm', npmArguments.concat(quiet), {
        stdio: 'inherit',
        shell: process.platform === 'win32',
      })
}

/** Waits for a process, then calls `next`. Prints the problem and exits with status 1 if the process fails. */
function run(child, problem, next) {
  child.on('error', function (error) {
    stop(error.message + '. ' + problem)
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
