// `npm run lint`: all checks that run no tests, the longest first.
import { runParts } from './parts.mjs'

const bin = (name, ...options) => [`node_modules/${name}`, ...options]

runParts(
  [
    { name: 'types, style and import cycles (oxlint)', program: bin('oxlint/bin/oxlint') },
    { name: 'format (oxfmt)', program: bin('oxfmt/bin/oxfmt', '--check') },
    { name: 'API pages of the client', program: ['dev/client-api.mjs', '--check'] },
    { name: 'language and commit subjects', program: ['dev/language.mjs'] },
    {
      name: 'unused code and packages (knip)',
      program: bin(
        'knip/bin/knip.js',
        '--no-progress',
        '--cache',
        '--cache-location',
        'node_modules/.cache/knip',
      ),
    },
  ],
  { doing: 'checking', keepGoing: true },
)
