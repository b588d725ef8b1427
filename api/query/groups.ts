import { chooseFormat } from '../http/accept'
import {
  choiceParameter,
  choiceReader,
  invalid,
  parameter,
  textParameter,
  wholeReader,
  type QueryOf,
} from '../http/parameters'
import { BOM, checkBom } from './parameters'
import { MAX_GROUPS, SUMS, type Dimension, type GroupBy, type GroupQuery, type SumName } from '../store'

/** Parameters of statistics by group. */

const FORMATS = ['json', 'csv'] as const
const DEFAULT_TOP = 1_000
const MAX_BY = 2
type Dimensions = Readonly<Record<string, Dimension>>
const SUM_NAMES = Object.keys(SUMS) as SumName[]

const labelOf = ([name, { argument }]: [string, Dimension]) => (argument ? `${name}:n` : name)

/** Reads one or two names of dimensions, such as `day` or `geohash:5`. */
function byReader(dimensions: Dimensions) {
  return (text: string, name: string): readonly GroupBy[] => {
    const by = text.split(',').map((each): GroupBy => {
      const [, label = '', digits] = /^(\w+)(?::(\d{1,2}))?$/.exec(each) ?? []
      const dimension = Object.hasOwn(dimensions, label) ? dimensions[label] : undefined
      if (!dimension)
        throw invalid(name, `Expected one or two of ${Object.entries(dimensions).map(labelOf).join(', ')}`)
      const { argument: range } = dimension
      const argument = Number(digits ?? NaN)
      if (range && !(argument >= range.minimum && argument <= range.maximum))
        throw invalid(name, `Expected ${label}:${range.minimum} to ${label}:${range.maximum}`)
      if (!range && digits !== undefined)
        throw invalid(name, `Expected ${label}, without a colon and a number`)
      return { name: label, dimension, argument: range ? argument : 0 }
    })
    if (by.length > MAX_BY) throw invalid(name, `Expected at most ${MAX_BY} dimensions`)
    if (new Set(by.map((each) => each.name)).size < by.length)
      throw invalid(name, 'Expected two different dimensions')
    return by
  }
}

function readSums(text: string, name: string): readonly SumName[] {
  const sums = text.split(',').map((each) => choiceReader(SUM_NAMES)(each, name))
  return SUM_NAMES.filter((each) => sums.includes(each))
}

/**
 * Parameters of statistics by group.
 * @param usual dimension of a request without `by`; undefined if `by` is required
 */
export function groupParameters(dimensions: Dimensions, usual?: string) {
  const described = Object.entries(dimensions)
    .map((row) => `\`${labelOf(row)}\`: ${row[1].description}`)
    .join(' ')
  return {
    by: textParameter(`One or two dimensions, separated by a comma. ${described}`, byReader(dimensions), {
      examples: ['day', 'month,chain'],
      ...(usual !== undefined && { default: usual }),
    }),
    top: parameter(
      {
        type: 'integer',
        description: 'Maximum number of groups. `rest` sums up the others.',
        ...{ minimum: 1, maximum: MAX_GROUPS, default: DEFAULT_TOP },
      },
      (text, name): number => {
        const top = wholeReader(1)(text, name)
        if (top > MAX_GROUPS) throw invalid(name, `Expected at most ${MAX_GROUPS}`)
        return top
      },
    ),
    sort: textParameter(
      'Order of the groups: `records`, a sum, or a dimension of `by`; `-` is descending. Default: by time if it is a dimension, else `-records`. Equal groups are in the order of their dimensions.',
      (text) => text,
      { examples: ['-records'] },
    ),
    format: choiceParameter(FORMATS, 'Default: what the Accept header prefers, else JSON.'),
    bom: BOM,
  }
}
/** Parameter of the sums over measured geometries. */
export const SUM = textParameter(
  'Sums to add, separated by a comma. `area`: of polygons in square metres, `length`: of lines in metres, geodesic, each as the Compute API measures it. Other geometries add nothing.',
  readSums,
  { examples: ['area', 'area,length'] },
)

/** Groups to read, and their representation. `bom` starts CSV with a byte order mark. */
type GroupsRequest = GroupQuery & { format: (typeof FORMATS)[number]; bom: boolean }
type GroupParameters = Partial<QueryOf<ReturnType<typeof groupParameters> & { sum: typeof SUM }>>

/**
 * Combines the parameters of statistics by group.
 * @throws RecordsError if `by` is missing, or `sort` names neither a dimension nor a sum of the request
 */
export function groupsRequest(
  { by, top = DEFAULT_TOP, sort, sum = [], format: asked, bom = false }: GroupParameters,
  accept: string | undefined,
): GroupsRequest {
  if (!by)
    throw invalid('by', 'Missing: statistics of a selection need one or two dimensions, such as by=day')
  const sortable = ['records', ...sum, ...by.map(({ name }) => name)]
  const wanted = sort?.replace(/^-/, '')
  if (wanted !== undefined && !sortable.includes(wanted))
    throw invalid('sort', `Expected one of ${sortable.join(', ')} (- is descending)`)
  const format = chooseFormat(asked, accept, FORMATS)
  checkBom(bom, format)
  const time = by.find(({ dimension }) => dimension.type === 'time')
  return {
    ...{ by, top, sums: sum, format, bom },
    sort:
      wanted === undefined
        ? { by: time?.name ?? 'records', descending: !time }
        : { by: wanted, descending: sort!.startsWith('-') },
  }
}
