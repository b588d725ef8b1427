// Generates the pages of the client's API from its doc comments: node dev/client-api.mjs [--check]. With
// --check it writes nothing, and exits with status 1 if a page is stale.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Application } from 'typedoc'
import { load as markdown } from 'typedoc-plugin-markdown'

const CLIENT = 'packages/client'
/** Page and title by module of the package. */
const PAGES = {
  index: ['docs/reference/client-api.md', 'Reference: API of the client'],
  kernel: ['docs/reference/client-kernel-api.md', "Reference: API of the client's kernel"],
}

const folder = mkdtempSync(path.join(tmpdir(), 'client-api-'))
const application = await Application.bootstrapWithPlugins({
  plugin: [markdown],
  ...{ out: folder, cleanOutputDir: false },
  entryPoints: Object.keys(PAGES).map((module) => `${CLIENT}/src/${module}.ts`),
  tsconfig: `${CLIENT}/tsconfig.json`,
  exclude: ['**/openapi.ts'],
  ...{ excludePrivate: true, excludeInternal: true, excludeExternals: true, excludeNotDocumented: true },
  // Members without a comment are documented by their type.
  excludeNotDocumentedKinds: ['Interface', 'TypeAlias', 'Variable', 'Function', 'Constructor', 'Reference'],
  ...{ readme: 'none', disableSources: true, skipErrorChecking: true, logLevel: 'Error' },
  ...{ outputFileStrategy: 'modules', hideBreadcrumbs: true, hidePageHeader: true },
  ...{ parametersFormat: 'table', propertiesFormat: 'table', interfacePropertiesFormat: 'table' },
  ...{ classPropertiesFormat: 'table', typeDeclarationFormat: 'table', enumMembersFormat: 'table' },
})
const project = await application.convert()
try {
  await application.outputs.writeOutput({ name: 'markdown', path: folder }, project)
  for (const [module, [file, title]] of Object.entries(PAGES)) {
    const page = pageOf(readFileSync(path.join(folder, `${module}.md`), 'utf8'), title)
    if (process.argv.includes('--check')) {
      if (readFileSync(file, 'utf8') === page) continue
      console.log(`${file} is stale. Run node dev/client-api.mjs.`)
      process.exitCode = 1
    } else writeFileSync(file, page)
  }
} finally {
  rmSync(folder, { recursive: true })
}

/** Returns a page with links between the two pages. Links to members become their text. */
function pageOf(generated, title) {
  const headings = new Set(
    [...generated.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
      heading
        .toLowerCase()
        .replace(/[^a-z0-9 _-]/g, '')
        .replaceAll(' ', '-'),
    ),
  )
  const text = generated
    .replace(
      /^# .*$/m,
      `# ${title}\n\nGenerated from the doc comments of the package. Overview: [the typed client](client.md).`,
    )
    .replace(/<a id="[^"]*"><\/a> /g, '')
    .replace(/\[([^\]\n]+)\]\(#([^)]+)\)/g, (link, label, anchor) => (headings.has(anchor) ? link : label))
    .replace(/^\*\*\*\n\n/gm, '')
  return Object.entries(PAGES).reduce(
    (page, [module, [file]]) => page.replaceAll(`](${module}.md`, `](${path.basename(file)}`),
    text,
  )
}
