import {
  GraphQLError,
  Kind,
  Lexer,
  SchemaMetaFieldDef,
  Source,
  TokenKind,
  TypeMetaFieldDef,
  getNamedType,
  getOperationAST,
  isCompositeType,
  isObjectType,
  isInterfaceType,
  parse,
  specifiedRules,
  validate,
  valueFromASTUntyped,
  visit,
  type ArgumentNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLSchema,
  type ObjectFieldNode,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql'
import { cut } from '../../src/cut'

/** The query, or an argument of it, is rejected. The message is sent to the client. */
export class QueryError extends Error {}

/**
 * Limits of a query, checked before it runs in this order: length, tokens, fields with fragments expanded and
 * their aliases, validity, depth, cost.
 */
const QUERY_LIMITS = {
  /** Characters. GraphiQL's introspection query has 1,600. */
  length: 16_384,
  /** Lexical tokens. Validation takes quadratic time in the worst case. */
  tokens: 2_000,
  /** Nested braces, brackets and parentheses: the parser and the checks recurse. */
  nesting: 40,
  /** Each alias counts, and each fragment as often as it is spread. GraphiQL's introspection has 191. */
  fields: 600,
  /** Root fields: each one runs a database statement. */
  rootFields: 10,
  /** Nested fields: a record, its events, their record, its events. */
  depth: 9,
  /** Types have fields with arguments of types, which may be lists of lists. */
  introspectionDepth: 20,
  /** Rows that a response may have: the sizes of nested pages multiply. */
  cost: 10_000,
  /** Validation errors in one response. */
  errors: 10,
} as const

/**
 * Rows of the largest page, of the default page, and of the default page of a relation; and the largest
 * offset.
 */
export const PAGE_LIMITS = { rows: 1_000, default: 100, ofRelation: 10, offset: 10_000 } as const
/** Minimum cost of a count: it reads up to 100,000 rows. Nested, each row has its own count of few rows. */
const COUNT_COST = 100

export interface CheckedQuery {
  document: DocumentNode
  operation: OperationDefinitionNode
}

/**
 * Maximum number of rows of a field with these arguments, which multiplies the cost of its own fields;
 * undefined for a single-row field. Throws a QueryError for arguments out of range.
 */
export type RowsOf = (
  field: GraphQLField<unknown, unknown>,
  args: Readonly<Record<string, unknown>>,
  parent: GraphQLCompositeType,
) => number | undefined

/**
 * Parses and validates a query and checks QUERY_LIMITS, without running any of it. Throws a QueryError, an
 * InvalidQueryError or GraphQL's syntax error.
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
  if (!document.definitions.some(({ kind }) => kind === Kind.OPERATION_DEFINITION))
    throw new QueryError('The query has no operation. Add one, such as { __typename }.')
  const operation = getOperationAST(document, operationName)
  if (!operation)
    throw new QueryError(
      operationName === undefined
        ? 'The query has several operations. Choose one with operationName.'
        : `The query has no operation named '${cut(operationName, 40)}'.`,
    )
  const fragments = new Map(
    document.definitions.flatMap((each) =>
      each.kind === 'FragmentDefinition' ? [[each.name.value, each] as const] : [],
    ),
  )
  for (const definition of document.definitions)
    if (definition.kind === 'OperationDefinition') checkSize(definition.selectionSet, fragments)
  if (operation.operation !== 'query')
    throw new QueryError(`Unsupported operation '${operation.operation}'. Supported: query.`)
  const errors = validate(schema, document, specifiedRules, undefined, { maxErrors: QUERY_LIMITS.errors })
  if (errors.length) throw new InvalidQueryError(withNames(errors, document))
  new CostCheck(schema, fragments, withDefaults(operation, variables), rowsOf).check(operation)
  return { document, operation }
}

/** Prefixes errors of a literal value with its argument or field, and adds the remedy if it must be text. */
function withNames(errors: readonly GraphQLError[], document: DocumentNode): GraphQLError[] {
  const names = new Map<unknown, string>()
  const keep = ({ name, value }: ArgumentNode | ObjectFieldNode) => {
    if (value.kind !== Kind.VARIABLE) names.set(value, name.value)
  }
  visit(document, { Argument: keep, ObjectField: keep })
  return errors.map((error) => {
    const name = names.get(error.nodes?.[0])
    if (name === undefined) return error
    const remedy = error.message.startsWith('String ') ? '. Write it as text in quotes.' : ''
    return new GraphQLError(`${name}: ${error.message}${remedy}`, error.nodes)
  })
}

/** The query breaks GraphQL's validation rules. The errors are sent to the client. */
export class InvalidQueryError extends Error {
  constructor(readonly errors: readonly GraphQLError[]) {
    super('The query is not valid.')
  }
}

function checkText(text: string): void {
  if (text.length > QUERY_LIMITS.length)
    throw new QueryError(`The query is longer than ${QUERY_LIMITS.length} characters.`)
  const lexer = new Lexer(new Source(text))
  let tokens = 0
  let depth = 0
  for (let token = lexer.advance(); token.kind !== TokenKind.EOF; token = lexer.advance()) {
    if (++tokens > QUERY_LIMITS.tokens)
      throw new QueryError(`The query has more than ${QUERY_LIMITS.tokens} tokens.`)
    if (OPENING.has(token.kind)) {
      if (++depth > QUERY_LIMITS.nesting)
        throw new QueryError(`The query is nested deeper than ${QUERY_LIMITS.nesting} levels.`)
    } else if (CLOSING.has(token.kind)) depth--
  }
}
const OPENING = new Set<string>([TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L])
const CLOSING = new Set<string>([TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R])

/** Throws a QueryError for too many fields, with all fragments expanded, and for fragment cycles. */
function checkSize(root: SelectionSetNode, fragments: ReadonlyMap<string, FragmentDefinitionNode>): void {
  let fields = 0
  const unfold = (set: SelectionSetNode, within: readonly string[]): void => {
    for (const selection of set.selections) {
      // Every selection counts, because nested fragments without fields take time, too.
      if (++fields > QUERY_LIMITS.fields)
        throw new QueryError(
          `The query selects more than ${QUERY_LIMITS.fields} fields, including those of fragments.`,
        )
      // PostGraphile stores fields in a plain object, in which names that objects inherit look like known
      // fields.
      if (selection.kind === 'Field' && selection.alias && selection.alias.value in Object.prototype)
        throw new QueryError(`Unsupported alias '${selection.alias.value}'. Choose another one.`)
      if (selection.kind === 'FragmentSpread') {
        const name = selection.name.value
        if (within.includes(name))
          throw new QueryError(`The fragment '${name.slice(0, 40)}' contains itself.`)
        const fragment = fragments.get(name)
        if (fragment) unfold(fragment.selectionSet, [...within, name])
      } else if (selection.selectionSet) unfold(selection.selectionSet, within)
    }
  }
  unfold(root, [])
}

/** Values of the variables, with defaults for those that are missing. */
function withDefaults(
  { variableDefinitions }: OperationDefinitionNode,
  given: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const values = Object.create(null) as Record<string, unknown>
  for (const { variable, defaultValue } of variableDefinitions ?? []) {
    const name = variable.name.value
    if (Object.hasOwn(given, name)) values[name] = given[name]
    else if (defaultValue) values[name] = valueFromASTUntyped(defaultValue)
  }
  return values
}

class CostCheck {
  private cost = 0
  private schemas = 0

  constructor(
    private readonly schema: GraphQLSchema,
    private readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>,
    private readonly variables: Record<string, unknown>,
    private readonly rowsOf: RowsOf,
  ) {}

  check(operation: OperationDefinitionNode): void {
    const roots = new Set(
      this.fieldsOf(operation.selectionSet).map(({ alias, name }) => (alias ?? name).value),
    )
    if (roots.size > QUERY_LIMITS.rootFields)
      throw new QueryError(
        `The query has ${roots.size} root fields. The maximum is ${QUERY_LIMITS.rootFields}.`,
      )
    this.walk(operation.selectionSet, this.schema.getQueryType()!, 1, 1)
  }

  /** Fields of a selection and its fragments, whatever @skip and @include say. */
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
          throw new QueryError('The query has more than 3 introspection fields. The maximum is 3.')
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
        throw new QueryError(`The fields of the query are nested deeper than ${QUERY_LIMITS.depth} levels.`)
      const field = isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[name] : undefined
      if (!field) continue
      const args = Object.fromEntries(
        (node.arguments ?? []).map((argument) => [
          argument.name.value,
          valueFromASTUntyped(argument.value, this.variables),
        ]),
      )
      const rows = this.rowsOf(field, args, parent)
      if (rows !== undefined) this.spend(times * rows)
      // Both fields of a count, and their aliases, share one statement.
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
      throw new QueryError(
        `The query may return more than ${QUERY_LIMITS.cost} rows (nested pages multiply, and a ` +
          `count costs ${COUNT_COST}). Request fewer rows with first or last.`,
      )
  }

  /**
   * Checks introspection, which can recurse endlessly. Rejects nested lists of types, and aliases, so that no
   * field is returned twice.
   */
  private walkSchema(
    set: SelectionSetNode,
    parent: GraphQLCompositeType,
    depth: number,
    listed: boolean,
  ): void {
    if (depth > QUERY_LIMITS.introspectionDepth)
      throw new QueryError(
        `The fields of the introspection are nested deeper than ${QUERY_LIMITS.introspectionDepth} levels.`,
      )
    for (const node of this.fieldsOf(set)) {
      const name = node.name.value
      if (node.alias && node.alias.value !== name)
        throw new QueryError('Introspection fields must not have aliases.')
      const lists = LISTS_OF_TYPES.has(name) && parent.name === '__Type'
      if (lists && listed)
        throw new QueryError(`Unsupported introspection field '${name}' inside the fields of a type.`)
      const field = isObjectType(parent) ? parent.getFields()[name] : undefined
      const type = field && getNamedType(field.type)
      if (node.selectionSet && isCompositeType(type))
        this.walkSchema(node.selectionSet, type, depth + 1, listed || lists)
    }
  }
}
const COUNTS = new Set(['totalCount', 'totalCountIsExact'])
const LISTS_OF_TYPES = new Set(['fields', 'inputFields', 'interfaces', 'possibleTypes'])

/** Size of a page by its arguments, by default `fallback`. Throws a QueryError for values out of range. */
export function pageRows(args: Readonly<Record<string, unknown>>, fallback: number): number {
  const { first, last, offset } = args
  checkRange('first', first, PAGE_LIMITS.rows)
  checkRange('last', last, PAGE_LIMITS.rows)
  checkRange(
    'offset',
    offset,
    PAGE_LIMITS.offset,
    `${String(offset)}. To go further, set after to endCursor.`,
  )
  if (first != null && last != null) throw new QueryError('first and last: set only one of them')
  if (offset != null && last != null) throw new QueryError('offset and last: set only one of them')
  const rows = first ?? last
  return typeof rows === 'number' ? rows : fallback
}

/**
 * Throws a QueryError for a number out of range. GraphQL itself rejects values that are not numbers.
 * @param shown the value in the error
 */
export function checkRange(name: string, value: unknown, maximum: number, shown = String(value)): void {
  if (typeof value === 'number' && !(value >= 0 && value <= maximum))
    throw new QueryError(`${name}: expected a number from 0 to ${maximum}, got ${shown}`)
}
