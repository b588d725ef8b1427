import type { FastifyInstance } from 'fastify'
import { Marked } from 'marked'
import { cut } from '../../src/cut'
import { html, joined, trusted, type Html } from '../http/html'
import { anchor, page, searchForm, searchText, sendPage, type Page } from '../http/pages'
import { RecordsError } from '../http/problems'
import {
  documentOf,
  operationsOf,
  type Content,
  type Document,
  type Operation,
  type Parameter,
} from './openapi-document'
import { fieldsOf, typeText, type Schema } from './schema-text'

/** The OpenAPI document as pages: the list of operations with a search, and a page for each operation. */

interface Entry extends Operation {
  method: string
  path: string
  /** Texts of the operation in lower case, for the search. */
  text: string
}

const LABEL = 'Search the API'
const CACHE = 'public, max-age=3600'
const marked = new Marked()
const PAGE_OF_MANUAL = /\bdocs\/((?:guide|reference|spec)\/[\w-]+)\.md\b/g
/** Renders Markdown. A file of the documentation becomes a link to its page of the manual. */
const markdown = ({ servers }: Document, text = ''): Html =>
  trusted(marked.parse(text.replace(PAGE_OF_MANUAL, `[$&](${servers[0]!.url}/manual/$1)`), { async: false }))

/** Serves `GET /docs?q=` and `GET /docs/<operationId>`. */
export function referencePageRoutes(app: FastifyInstance): void {
  let made: { document: Document; entries: readonly Entry[] } | undefined
  const reference = () => {
    if (made) return made
    const document = documentOf(app)
    return (made = { document, entries: operationsOf(document).map(entryOf) })
  }
  const pages = new Map<string, Page>()
  app.get<{ Querystring: { q?: unknown } }>('/docs', { schema: { hide: true } }, ({ query }, reply) => {
    const { document, entries } = reference()
    const text = searchText(query)
    return sendPage(reply.header('cache-control', CACHE), listPage(document, entries, text), { form: true })
  })
  app.get<{ Params: { operation: string } }>(
    '/docs/:operation',
    { schema: { hide: true } },
    ({ params: { operation: id } }, reply) => {
      const { document, entries } = reference()
      const entry = entries.find(({ operationId }) => operationId === id)
      if (!entry)
        throw new RecordsError('not-found', `Operation not found: '${cut(id, 40)}'. GET /docs lists them`)
      const shown = pages.get(id) ?? operationPage(document, entry)
      pages.set(id, shown)
      return sendPage(reply.header('cache-control', CACHE), shown, { form: true })
    },
  )
}

function entryOf(operation: ReturnType<typeof operationsOf>[number]): Entry {
  const { path, method, operationId, summary, description, parameters = [] } = operation
  const texts = [path, method, operationId, summary, description, ...parameters.map(({ name }) => name)]
  return { ...operation, method: method.toUpperCase(), text: texts.join(' ').toLowerCase() }
}

function listPage(document: Document, entries: readonly Entry[], text: string): Page {
  const { info, tags } = document
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const found = entries.filter((entry) => words.every((word) => entry.text.includes(word)))
  const groups = tags
    .map(({ name, description }) => ({
      name,
      description,
      items: found.filter((each) => each.tags.includes(name)),
    }))
    .filter(({ items }) => items.length > 0)
    .map(
      ({ name, description, items }) =>
        html`<section><h2>${name}</h2>${words.length === 0 && markdown(document, description)}<table><thead><tr><th>Request</th><th>Purpose</th></tr></thead><tbody>${items.map(row)}</tbody></table></section>`,
    )
  const count = html`<p role="status">${found.length} of ${entries.length} operations match “${text.trim()}”. ${anchor('docs', 'All operations')}</p>`
  const start = html`${markdown(document, info.description)}<p>${joined([anchor('openapi.json', 'OpenAPI document'), anchor('manual', 'Manual'), anchor('graphql', 'GraphQL'), anchor('llms.txt', 'llms.txt')], ' · ')}</p>`
  return page('API', [], html`${searchForm('docs', LABEL, text)}${words.length > 0 ? count : start}${groups}`)
}

function row({ operationId, method, path, summary }: Entry): Html {
  return html`<tr><td>${anchor(`docs/${operationId}`, `${method} ${path}`)}</td><td>${summary}</td></tr>`
}

function operationPage(document: Document, entry: Entry): Page {
  const { method, path, summary, description, parameters = [], requestBody, responses } = entry
  const url = document.servers[0]!.url + path
  const body = html`${searchForm('../docs', LABEL, '')}<p><code class="request"><b>${method}</b> ${url}</code></p>${markdown(document, description)}
${parameters.length > 0 && html`<h2>Parameters</h2>${table(parameters.map((each) => parameterRow(document, each)))}`}
${requestBody && html`<h2>Request</h2>${markdown(document, requestBody.description)}${contentParts(document, requestBody.content)}`}
<h2>Example</h2>${exampleRequest(url, entry)}
<h2>Responses</h2>${Object.entries(responses).map(([status, { description: text, content }]) => html`<details${status === '200' && trusted(' open')}><summary><b>${status}</b> ${text}</summary>${contentParts(document, content ?? {})}</details>`)}`
  return page(summary, [{ href: '../docs', title: 'API' }], body)
}

/** A command that sends the first recorded example, and a link to it if it is a GET. */
function exampleRequest(url: string, { method, parameters = [], requestBody, security }: Entry): Html {
  const [example] = Object.values(requestBody?.content['application/json']?.examples ?? {})
  const filled = parameters.reduce(
    (text, { name, in: where, example: value, schema }) =>
      where === 'path' ? text.replace(`{${name}}`, textOf(value ?? firstOf(schema)) ?? `{${name}}`) : text,
    url,
  )
  const data = example ? JSON.stringify(example.value).replaceAll("'", String.raw`'\''`) : '{}'
  const command = [
    `curl '${filled}'`,
    // With a body, curl sends a POST.
    ...(method === (requestBody ? 'POST' : 'GET') ? [] : [`-X ${method}`]),
    ...(security ? ['-H "authorization: Bearer $ADMIN_KEY"'] : []),
    ...(requestBody ? [`-H 'content-type: application/json' -d '${data}'`] : []),
  ]
  const isLink = method === 'GET' && !security && !filled.includes('{')
  return html`<pre>${command.join(' ')}</pre>${isLink && html`<p>${anchor(filled, 'Open')}</p>`}`
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : value === undefined ? undefined : JSON.stringify(value)
const firstOf = ({ examples }: Schema): unknown => (Array.isArray(examples) ? examples[0] : undefined)

function parameterRow(
  document: Document,
  { name, in: where, required = false, description, schema }: Parameter,
): Html {
  const type = typeText(schema, document.components.schemas)
  return fieldRow(document, name, `${type}, in the ${where}`, required, description)
}

function fieldRow(
  document: Document,
  name: string,
  type: string,
  required: boolean,
  description?: string,
): Html {
  return html`<tr><td><code>${name}</code>${required && html` <b class="note">required</b>`}</td><td class="note">${type}</td><td>${markdown(document, description)}</td></tr>`
}

function table(rows: readonly Html[]): Html {
  return html`<table><thead><tr><th>Name</th><th>Type</th><th>Description</th></tr></thead><tbody>${rows}</tbody></table>`
}

function contentParts(document: Document, content: Content): Html {
  return html`${Object.entries(content).map(([type, { schema, examples = {} }]) => {
    const rows = fieldsOf(schema ?? {}, document.components.schemas).map(
      ({ name, type: of, required, description }) => fieldRow(document, name, of, required, description),
    )
    const shown = Object.values(examples).map(
      ({ summary = 'Example', value }) =>
        html`<details><summary>${summary}</summary><pre tabindex="0">${typeof value === 'string' ? value : JSON.stringify(value, null, 2)}</pre></details>`,
    )
    return html`<h3><code>${type}</code></h3>${rows.length > 0 ? table(rows) : markdown(document, schema?.description)}${shown}`
  })}`
}
