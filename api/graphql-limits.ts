import {
  GraphQLError,
  Lexer,
  Source,
  TokenKind,
  getNamedType,
  getOperationAST,
  isCompositeType,
  isObjectType,
  isInterfaceType,
  parse,
  specifiedRules,
  validate,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql'
import { SchemaMetaFieldDef, TypeMetaFieldDef } from 'graphql'

/** The one who asked is told this: a query, or an argument of it, that is not to be had. */
export class QueryFault extends Error {}

/** What a query may be. Checked before any of it runs, in this order: text, tokens, fields with fragments unfolded and their aliases, validity, depth, cost. */
export const QUERY_LIMITS = {
  /** Characters; GraphiQL's own question about the schema has 1,600. */
  length: 16_384,
  /** Names, marks and values; validation takes the square of it in the worst case. */
  tokens: 2_000,
  /** Braces, brackets and parentheses in one another: what follows recurses. */
  nesting: 40,
  /** Fields, each alias for itself, each fragment as often as it is spread; GraphiQL's question has 191. */
  fields: 600,
  /** Fields of the query itself: each is a statement of the database. */
  rootFields: 10,
  /** Fields in one another: a record, its events, their record, its events. */
  depth: 9,
  /** Of questions about the schema: types have fields have arguments have types, which may be lists of lists. */
  introspectionDepth: 20,
  /** Rows that an answer may have, counting the pages that are asked for, in one another multiplied. */
  cost: 10_000,
  /** What is told of a query that is wrong in many places. */
  errors: 10,
} as const

/** Rows of a page at most, and where the query does not say; offsets at most. */
export const PAGE_LIMITS = { rows: 1_000, default: 100, ofRelation: 10, offset: 10_000 } as const
/** What counting all matches is worth at least, in rows: it reads up to a hundred thousand (store-published-pages). Within a page each row has a count of its own, of few. */
const COUNT_COST = 100

export interface CheckedQuery {
  document: DocumentNode
  operation: OperationDefinitionNode
}

/** How many rows a field gives by its arguments, and whether its own fields are counted with each; throws a QueryFault. */
export type RowsOf = (
  field: GraphQLField<unknown, unknown>,
  args: Readonly<Record<string, unknown>>,
  parent: GraphQLCompositeType,
) => number | undefined

/**
 * Reads a query, refusing what is too large for its answer or for us; nothing of it has run by then.
 * Throws a QueryFault or GraphQL's own errors.
 */
export function checkQuery(
  schema: GraphQLSchema,
  text: string,
  operationName: string | undefined,
  variables: Readonly<Record<string, unknown>>,
  rowsOf: RowsOf,
): CheckedQuery {
  checkText(text)
  const document = parse(text)
  const operation = getOperationAST(document, operationName)
  if (!operation)
    throw new QueryFault(
      operationName === undefined
        ? 'The query holds several operations: say which by operationName.'
        : `The query holds no operation named '${operationName.slice(0, 40)}'.`,
    )
  const fragments = new Map(
    document.definitions.flatMap((each) =>
      each.kind === 'FragmentDefinition' ? [[each.name.value, each] as const] : [],
    ),
  )
  for (const definition of document.definitions)
    if (definition.kind === 'OperationDefinition') checkSize(definition.selectionSet, fragments)
  if (operation.operation !== 'query')
    throw new QueryFault(`Only queries are possible here, no ${operation.operation}.`)
  const errors = validate(schema, document, specifiedRules, undefined, { maxErrors: QUERY_LIMITS.errors })
  if (errors.length) throw new InvalidQuery(errors)
  new CostCheck(schema, fragments, withDefaults(operation, variables), rowsOf).check(operation)
  return { document, operation }
}

/** What GraphQL's own rules say against a query. */
export class InvalidQuery extends Error {
  constructor(readonly errors: readonly GraphQLError[]) {
    super('The query is not valid.')
  }
}

function checkText(text: string): void {
  if (text.length > QUERY_LIMITS.length)
    throw new QueryFault(`The query is longer than ${QUERY_LIMITS.length} characters.`)
  const lexer = new Lexer(new Source(text))
  let tokens = 0
  let depth = 0
  for (let token = lexer.advance(); token.kind !== TokenKind.EOF; token = lexer.advance()) {
    if (++tokens > QUERY_LIMITS.tokens)
      throw new QueryFault(`The query has more than ${QUERY_LIMITS.tokens} names, marks and values.`)
    if (
      token.kind === TokenKind.BRACE_L ||
      token.kind === TokenKind.BRACKET_L ||
      token.kind === TokenKind.PAREN_L
    ) {
      if (++depth > QUERY_LIMITS.nesting)
        throw new QueryFault(`The query is nested deeper than ${QUERY_LIMITS.nesting} levels.`)
    } else if (
      token.kind === TokenKind.BRACE_R ||
      token.kind === TokenKind.BRACKET_R ||
      token.kind === TokenKind.PAREN_R
    )
      depth--
  }
}

/** Counts the fields with every fragment unfolded, and finds fragments that lead back to themselves. */
function checkSize(root: SelectionSetNode, fragments: ReadonlyMap<string, FragmentDefinitionNode>): void {
  let fields = 0
  const unfold = (set: SelectionSetNode, within: readonly string[]): void => {
    for (const selection of set.selections) {
      // Empty fragments in one another take time too.
      if (++fields > QUERY_LIMITS.fields)
        throw new QueryFault(
          `The query asks for more than ${QUERY_LIMITS.fields} fields, fragments unfolded.`,
        )
      // PostGraphile takes what objects inherit for a field that it has seen before.
      if (selection.kind === 'Field' && selection.alias && selection.alias.value in Object.prototype)
        throw new QueryFault(`The alias '${selection.alias.value}' is not possible: choose another.`)
      if (selection.kind === 'FragmentSpread') {
        const name = selection.name.value
        if (within.includes(name))
          throw new QueryFault(`The fragment '${name.slice(0, 40)}' leads back to itself.`)
        const fragment = fragments.get(name)
        if (fragment) unfold(fragment.selectionSet, [...within, name])
      } else if (selection.selectionSet) unfold(selection.selectionSet, within)
    }
  }
  unfold(root, [])
}

/** The variables as the query will see them: those that were left out have their defaults. */
function withDefaults(
  operation: OperationDefinitionNode,
  given: Readonly<Record<string, unknown>>,
): ReadonlyMap<string, unknown> {
  return new Map(
    (operation.variableDefinitions ?? []).flatMap(({ variable, defaultValue }) => {
      const name = variable.name.value
      if (Object.hasOwn(given, name)) return [[name, given[name]] as const]
      return defaultValue ? [[name, valueOf(defaultValue, new Map())] as const] : []
    }),
  )
}

/** A value as it stands in the query; a variable that is not given is undefined. */
function valueOf(node: ValueNode, variables: ReadonlyMap<string, unknown>): unknown {
  switch (node.kind) {
    case 'Variable':
      return variables.get(node.name.value)
    case 'IntValue':
    case 'FloatValue':
      return Number(node.value)
    case 'NullValue':
      return null
    case 'ListValue':
      return node.values.map((each) => valueOf(each, variables))
    case 'ObjectValue':
      return Object.fromEntries(node.fields.map(({ name, value }) => [name.value, valueOf(value, variables)]))
    default:
      return node.value
  }
}

/** What is counted once for a whole query: rows that its pages multiply to, and how deep it goes. */
class CostCheck {
  private cost = 0
  private schemas = 0

  constructor(
    private readonly schema: GraphQLSchema,
    private readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>,
    private readonly variables: ReadonlyMap<string, unknown>,
    private readonly rowsOf: RowsOf,
  ) {}

  check(operation: OperationDefinitionNode): void {
    const roots = new Set(
      this.fieldsOf(operation.selectionSet).map(({ alias, name }) => (alias ?? name).value),
    )
    if (roots.size > QUERY_LIMITS.rootFields)
      throw new QueryFault(
        `The query has ${roots.size} fields at its root; at most ${QUERY_LIMITS.rootFields} are answered together.`,
      )
    this.walk(operation.selectionSet, this.schema.getQueryType()!, 1, 1)
  }

  /** Fields under a selection, out of its fragments; whatever @skip and @include say. */
  private fieldsOf(set: SelectionSetNode): FieldNode[] {
    return set.selections.flatMap((selection) => {
      if (selection.kind === 'Field') return [selection]
      return this.fieldsOf(
        selection.kind === 'InlineFragment'
          ? selection.selectionSet
          : this.fragments.get(selection.name.value)!.selectionSet,
      )
    })
  }

  private walk(set: SelectionSetNode, parent: GraphQLCompositeType, depth: number, times: number): void {
    for (const node of this.fieldsOf(set)) {
      const name = node.name.value
      if (name === '__schema' || name === '__type') {
        if (++this.schemas > 3)
          throw new QueryFault('At most 3 questions about the schema are answered together.')
        this.walkSchema(
          node.selectionSet!,
          getNamedType(
            (name === '__schema' ? SchemaMetaFieldDef : TypeMetaFieldDef).type,
          ) as GraphQLCompositeType,
          2,
          false,
        )
        continue
      }
      if (depth > QUERY_LIMITS.depth)
        throw new QueryFault(`The query is deeper than ${QUERY_LIMITS.depth} fields in one another.`)
      const field = isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[name] : undefined
      if (!field) continue
      const args = Object.fromEntries(
        (node.arguments ?? []).map((argument) => [
          argument.name.value,
          valueOf(argument.value, this.variables),
        ]),
      )
      const rows = this.rowsOf(field, args, parent)
      if (rows !== undefined) this.spend(times * rows)
      // Once for both fields of it, and their aliases: it is counted once.
      if (node.selectionSet && this.fieldsOf(node.selectionSet).some((each) => COUNTS.has(each.name.value)))
        this.spend(Math.max(COUNT_COST, times))
      const type = getNamedType(field.type)
      if (node.selectionSet && isCompositeType(type))
        this.walk(node.selectionSet, type, depth + 1, times * (rows ?? 1))
    }
  }

  private spend(rows: number): void {
    this.cost += rows
    if (this.cost > QUERY_LIMITS.cost)
      throw new QueryFault(
        `The query may give more than ${QUERY_LIMITS.cost} rows (pages within pages multiply; counting is worth ${COUNT_COST}): ask for fewer at a time, by first or last.`,
      )
  }

  /** Types lead to fields lead to types without end: they may be listed once, not within one another, and without aliases, so that a field counts once. */
  private walkSchema(
    set: SelectionSetNode,
    parent: GraphQLCompositeType,
    depth: number,
    listed: boolean,
  ): void {
    if (depth > QUERY_LIMITS.introspectionDepth)
      throw new QueryFault(
        `The question about the schema is deeper than ${QUERY_LIMITS.introspectionDepth} fields in one another.`,
      )
    for (const node of this.fieldsOf(set)) {
      const name = node.name.value
      if (node.alias && node.alias.value !== name)
        throw new QueryFault('Questions about the schema may have no aliases.')
      const lists = LISTS_OF_TYPES.has(name) && parent.name === '__Type'
      if (lists && listed)
        throw new QueryFault(`${name} within fields of the schema's types is not answered.`)
      const field = isObjectType(parent) ? parent.getFields()[name] : undefined
      const type = field && getNamedType(field.type)
      if (node.selectionSet && isCompositeType(type))
        this.walkSchema(node.selectionSet, type, depth + 1, listed || lists)
    }
  }
}
const COUNTS = new Set(['totalCount', 'totalCountIsExact'])
const LISTS_OF_TYPES = new Set(['fields', 'inputFields', 'interfaces', 'possibleTypes'])

/** Rows that a page gives at most. Throws a QueryFault for what is out of range. `fallback` where nothing is said. */
export function pageRows(args: Readonly<Record<string, unknown>>, fallback: number): number {
  const { first, last, offset } = args
  for (const [name, value, maximum] of [
    ['first', first, PAGE_LIMITS.rows],
    ['last', last, PAGE_LIMITS.rows],
    ['offset', offset, PAGE_LIMITS.offset],
  ] as const)
    // What is no number is refused by GraphQL itself.
    if (typeof value === 'number' && !(value >= 0 && value <= maximum))
      throw new QueryFault(
        `${name}: ${value} is not possible; from 0 to ${maximum}.${name === 'offset' ? ' Go on by after: endCursor.' : ''}`,
      )
  if (first != null && last != null) throw new QueryFault('first and last: give one of them.')
  if (offset != null && last != null) throw new QueryFault('offset and last: give one of them.')
  const rows = first ?? last
  return typeof rows === 'number' ? rows : fallback
}
