// Checks of language (CONTRIBUTING.md, Work): phrases in the files of the repository, and subjects of new
// commits. Exits with status 1 if there is a hit.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'

const PHRASES = [
  [/\banew\b/, 'again; a verb with re-'],
  [/\bamid\b/, 'during, among'],
  [/\bby turns\b/, 'alternately'],
  [/\bso many (?!that\b)\w/, 'a number; up to N'],
  [/\b(?:is|are|was|were|be|been) told\b(?! apart)/, 'is reported, logged, sent'],
  [/\btells? (?:of|that)\b/, 'reports, indicates'],
  [/\bsays? of\b/, 'reports about'],
  [/\b(?:is|was) said (?:in|to|of|below|once|so|what|that)\b/, 'is stated, documented'],
  [
    /(?<![Tt]here )\b(?:is|are|was|were) no (?:[a-z]+ )?(?:JSON|UID|UTF-8|URL|number|integer|hex|address|schema|geometry|position|polygon|ring|date|slug|key)\b/,
    'is not a ...',
  ],
  [/(?<![Tt]here )\b(?:is|are) none(?= ?[.,;:)]|$)/, 'is not one; name it'],
  [/\b(?:is|are) none of\b/, 'is not one of'],
  [/\bbeside (?:the|a|an|it|its|each|other|them|that|this|what|one)\b/, 'next to, in addition to, with'],
  [/\b[Ff]or who\b/, 'for clients that; for anyone who'],
  [/\b[Ww]ho (?:copied|asks|wants|reads|accepts|looks)\b/, 'anyone who; the client'],
  [/\bwhoever (?:runs|owns|reads|started)\b/, 'the operator; anyone who'],
  [/\bheld against\b/, 'checked against'],
  [/\b(?:goes|went|gone) on\b(?! (?:a|the) )/, 'continues, resumes'],
  [/\b(?:out of reach|(?:is|are|was|were) away)\b/, 'unreachable, unavailable'],
  [/\bin place of\b/, 'instead of'],
  [/\bends? with [0-9]\b/, 'exits with status N'],
  [/\bin words\b/, 'with a clear message'],
  [/\bfor (?:ever|good)\b/, 'permanently, indefinitely'],
  [/\btime to come\b/, 'time in the future'],
  [/\b(?:is|are|was|were|be) given up\b/, 'is abandoned, times out'],
  [/\bwaited for\b/, 'pending, queued, awaited'],
  [/\bwithout a word\b/, 'silently'],
  [/\b(?:can|to) be had\b/, 'available'],
  [/\b[Ww]here (?:no|none|nothing|there (?:is|are|was|were) no(?:ne)?)\b/, 'if no'],
  [/\bround (?:the )?(?:earth|poles?|world|globe|antimeridian)\b/, 'around'],
  [/\ba wrong (?!answer|signature|key)\w+/, 'an invalid, an incorrect'],
  [/\bthe same of\b/, 'the same for; name the noun'],
  [/^\s*(?:\/\/|\/\*\*|\*) What\b/, 'a noun first: "Options that ..."'],
  [/^\s*(?:\/\/|\/\*\*|\*) (?:Of|Those|None|As below|As above|The same)\b/, 'a noun first'],
  [
    /\b(?:test|it)\(\s*["'`](?:that|who|whose|of|by|none|they|as|and|nothing|it|with|without)\b/,
    'a verb first: "rejects ..."',
  ],
]
const CHECKED = /\.(ts|tsx|mts|mjs|md|sql|sol|sh|ya?ml)$|^\.env\.example$/
/** Files that are generated, frozen, or whose wording others chose. */
const EXEMPT = [
  'dev/language.mjs',
  'docs/spec/interface.md', // the specification
  'packages/client/src/openapi.ts',
  'src/abi/',
  'src/model/',
  'db/migrations/', // frozen by SHA256SUMS
  'test/vectors/',
]
/** Number of permitted hits by file: quoted words, and compared texts. The numbers may only decrease. */
const LEFT = {
  'packages/client/src/context.ts': 1,
  'packages/client/src/land.ts': 1,
  'packages/client/src/parts.ts': 1,
  'packages/client/test/certain.service.test.ts': 1,
  'packages/client/test/land.service.test.ts': 3,
}

/** An area of a commit's subject: a room, a package or a top-level folder. */
const AREAS = new Set([
  ...['src', 'api', 'packages', '.'].flatMap((folder) =>
    readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && /^\w/.test(entry.name))
      .map(({ name }) => name),
  ),
  ...['ci', 'config', 'build', 'release'],
])
/** Imperatives whose ending resembles another form of a verb. */
const IMPERATIVES =
  /^(?:bypass|compress|discuss|dismiss|express|focus|pass|press|process|address|access|embed|feed|need|seed|shed|bring|string|ping)$/

const git = (...options) =>
  execFileSync('git', options, {
    encoding: 'utf8',
    maxBuffer: 1e8,
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim()

function phraseHits() {
  return git('ls-files')
    .split('\n')
    .filter((file) => CHECKED.test(file) && !EXEMPT.some((exempt) => file.startsWith(exempt)))
    .filter((file) => existsSync(file))
    .flatMap((file) => {
      const hits = readFileSync(file, 'utf8')
        .split('\n')
        .flatMap((line, index) =>
          PHRASES.filter(([phrase]) => phrase.test(line)).map(
            ([phrase, instead]) =>
              `${file}:${index + 1}: '${phrase.exec(line)[0].trim()}'. Write: ${instead}.`,
          ),
        )
      const left = LEFT[file] ?? 0
      if (hits.length < left) return [`${file}: ${hits.length} hits are left. Write that number into LEFT.`]
      return hits.length > left ? hits : []
    })
}

function subjectProblem(subject) {
  const [, area, verb, rest] = /^([\w-]+(?:, [\w-]+)*): ([\w-]+)(.*)$/.exec(subject) ?? []
  if (!area) return 'expected `area: imperative verb object`'
  const unknown = area.split(', ').find((name) => !AREAS.has(name))
  if (unknown) return `unknown area '${unknown}'. Areas: ${[...AREAS].sort().join(', ')}`
  if (!/^[a-z]/.test(verb)) return 'the verb starts with a small letter'
  if (/(?:ed|ing|[^s]s)$/.test(verb) && !IMPERATIVES.test(verb)) return `'${verb}' is not an imperative`
  if (!rest) return 'the object is missing'
  if (subject.endsWith('.')) return 'no full stop at the end'
  if (subject.length > 72) return `${subject.length} characters. The limit is 72`
  return undefined
}

/** Problems of subjects of the commits after the one that added this file. A shallow clone has only some. */
function subjectHits() {
  const since = git('log', '--diff-filter=A', '--format=%H', '--', 'dev/language.mjs').split('\n').at(-1)
  if (!since) return []
  return git('log', '--no-merges', '--format=%h %s', `${since}..HEAD`)
    .split('\n')
    .filter(Boolean)
    .flatMap((line) => {
      const [commit, ...words] = line.split(' ')
      const problem = subjectProblem(words.join(' '))
      return problem ? [`commit ${commit} '${words.join(' ')}': ${problem}.`] : []
    })
}

process.chdir(path.join(import.meta.dirname, '..'))
// An archive has neither the list of its files nor its history.
const hits = existsSync('.git') ? [...phraseHits(), ...subjectHits()] : []
for (const hit of hits) console.log(hit)
if (hits.length) process.exitCode = 1
