import Ajv, { type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describeApi, type OpenApi } from '../../src/describe/openApi.ts'
import type { GrantedRights } from '../../src/model/access.ts'
import type { StoredRights } from '../../src/model/key.ts'
import { parseRules } from '../../src/model/limits.ts'
import { RightsReader } from '../../src/rights/reader.ts'
import type { Roles } from '../../src/roles/roles.ts'
import { entities } from './entities.ts'
import { PathsInWords } from './pathsInWords.ts'

// Conformance of responses to the OpenAPI document. Every response to a test client is checked here.

export interface SentRequest {
  readonly method: string
  readonly target: string
}

/** A response as received; names of headers are in lower case. */
export interface ReceivedAnswer {
  readonly status: number
  readonly headers: Iterable<[string, string]>
  readonly text: string
}

// biome-ignore lint/suspicious/noExplicitAny: a document as it is read
type Json = any

/**
 * Headers of HTTP, of connections and for other origins, which operations do not describe. `RetryAfter` is described in words.
 */
const UNDESCRIBED =
  /^(?:date|content-length|content-type|connection|keep-alive|transfer-encoding|access-control-[a-z-]+|vary|allow|retryafter)$/
/**
 * Error codes of requests that are refused before they reach an operation, also one that a key has no right to, which its
 * document lacks.
 */
const BEFORE_OPERATIONS = [
  ...['NotFound', 'MethodNotAllowed', 'Unauthorized', 'Forbidden', 'RateLimitExceeded', 'ServiceUnavailable'],
  ...['InvalidHost', 'UriTooLong', 'InternalError'],
]
/** Files that pages load; only browsers need them. */
const FILES = /^\/(?:favicon\.ico|robots\.txt|(?:docs|explore)\/[^/]+)\/?(?:[?]|$)/i

const DRY_RUN = /[?&]dryRun=1/i
const CHECKED = /^\{"rows":\d+(?:,"created":\d+,"updated":\d+,"unchanged":\d+)?\}$/
const MATCHED = /[?&]match=/i
const RESULTS = ['created', 'updated', 'unchanged']

const REFERENCE = /"\$ref":"(#[^"]+)"/g
/** Validators by the text of their schema, since the documents of different keys have most schemas in common. */
const compiled = new Map<string, ValidateFunction>()

export class Conformance {
  /** Every observed combination of operation, status and code: `listCompanies 400 InvalidPage`. */
  readonly met = new Set<string>()
  private compiler: Ajv | null = null
  private readonly validators = new Map<string, ValidateFunction>()
  /** Texts of schemas that others refer to. */
  private readonly texts = new Map<string, string>()
  private readonly templates: readonly { pattern: RegExp; path: string }[]
  private readonly inWords: PathsInWords

  constructor(readonly document: OpenApi) {
    this.inWords = new PathsInWords(document)
    this.templates = Object.keys(document.paths).map((path) => ({
      path,
      // Paths match in any case, and with a slash at the end.
      pattern: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}${path === '/' ? '' : '/?'}$`, 'i'),
    }))
  }

  /** Returns the path in the document that a target matches; null if there is none. */
  templateOf(target: string): string | null {
    // Bun resolves `.` and `..` in a path as URLs do.
    const { pathname } = new URL(`http://a${target.startsWith('/') ? target : '/'}`)
    const path = pathname.replace(/%[0-9a-f]{2}/gi, decodeEscape)
    return this.templates.find(({ pattern }) => pattern.test(path))?.path ?? null
  }

  /** Returns faults of a response by the document; none if it conforms. */
  faultsOf({ method, target }: SentRequest, answer: ReceivedAnswer): string[] {
    const path = this.templateOf(target)
    const verb = method === 'HEAD' ? 'get' : method.toLowerCase()
    const item: Json = path === null ? undefined : this.document.paths[path]
    const operation = item?.[verb]
    if (method === 'OPTIONS' && answer.status === 204) return []
    // For browsers the error of a GET is a page: test/pages/faultPages.test.ts.
    if (answer.status >= 400 && new Map(answer.headers).get('content-type')?.startsWith('text/html')) return []
    if (!operation || verb === 'parameters') return this.faultsOutside(target, method, answer)
    // A dry run is only described in words, because generated clients could not read another body. D59
    if (verb !== 'get' && answer.status === 200 && DRY_RUN.test(target))
      return CHECKED.test(answer.text) ? [] : [`${operation.operationId} answers a dry run with ${answer.text}`]
    // Answers to rows with `match` are also described only in words. D115
    if (verb === 'post' && answer.status === 200 && MATCHED.test(target)) return this.resultFaults(operation, answer)
    const response = operation.responses[answer.status]
    if (!response) return [`${operation.operationId} has no status ${answer.status}`]
    const code = method === 'HEAD' || answer.status < 400 ? '' : ` ${codeOf(answer.text)}`
    this.met.add(`${operation.operationId} ${answer.status}${code}`)
    const pointer = response.$ref ? pointerOf(response.$ref) : ['paths', path as string, verb, 'responses', String(answer.status)]
    const { headers = {}, content } = this.at(pointer)
    const row = this.inWords.rowAt(path as string)
    return [
      ...this.headerFaults(headers, answer),
      ...(method === 'HEAD' || isInWords(operation, answer) ? [] : this.bodyFaults(pointer, content, answer, row)),
      ...this.parameterFaults(operation, target, answer, row),
      ...this.choiceFaults(content, method, target, answer),
    ]
  }

  /** Checks parameters both ways: a successful list had parameters by the document, and a list with such parameters succeeds. */
  private parameterFaults(
    { operationId, parameters = [] }: Json,
    target: string,
    answer: ReceivedAnswer,
    row: string | null,
  ): string[] {
    const described: Json[] = parameters.map((one: Json) => (one.$ref ? this.at(pointerOf(one.$ref)) : one))
    const pieces = described.some(({ name }) => name === 'sort') ? piecesOf(target) : null
    if (pieces === null) return []
    const wrong = pieces.filter(([name, value]) => !LONG_NUMBER.test(value) && !this.takes(described, name, value, row))
    if (answer.status < 400) return wrong.map(([name, value]) => `${operationId} takes ${name}=${value}, which is not described`)
    const paths = pieces.filter(([name]) => this.inWords.step(row, name) || /\[under\]$/i.test(name))
    const isFew = pieces.length <= 32 && paths.length <= 8
    const isCertain = wrong.length === 0 && isFew && !pieces.some((_, at) => isUncertain(at, pieces))
    // The fault may be in a header, which an answer to HEAD cannot name, or in the combination of a summary's keys and sorts.
    const isElsewhere =
      /"Invalid(?:Host|Header)"/.test(answer.text) || (operationId.startsWith('summarize') && OF_KEYS.test(answer.text))
    return answer.status === 400 && isCertain && answer.text !== '' && !isElsewhere
      ? [`${operationId} refuses ${target}, which is described: ${answer.text}`]
      : []
  }

  /** Checks that a row has all properties, unless the request selects some. D56 */
  private choiceFaults(content: Json, method: string, target: string, answer: ReceivedAnswer): string[] {
    const schema = content?.['application/json']?.schema
    const { $ref } = schema?.items ?? schema ?? {}
    if (method !== 'GET' || !$ref || !(`${$ref.split('/').at(-1)}Field` in this.document.components.schemas)) return []
    if (!new Map(answer.headers).get('content-type')?.startsWith('application/json')) return []
    if (/[?&]fields=/i.test(target)) return []
    const rows = [JSON.parse(answer.text)].flat()
    return rows.flatMap((row) => missing(this.at(pointerOf($ref)), row, 'a row'))
  }

  private takes(described: readonly Json[], name: string, value: string, row: string | null): boolean {
    // The document names `Id[]` in words.
    const named = name.toLowerCase().replace(/\[\]$/, '[any]')
    const parameter = described.find((one) => one.in === 'query' && one.name.toLowerCase() === named)
    const step = parameter ? null : this.inWords.step(row, name)
    if (step) return this.takes(this.inWords.filtersOf(step.target), step.rest, value, null)
    if (!parameter) return false
    // A + may have been decoded to a space.
    if (parameter.name === 'sort' && parameter.schema.items.$ref)
      return value === '' || value.split(',').every((one) => this.isNamed(parameter, one.replace(/^ /, '+')))
    const isPath = (one: string) => this.inWords.valueSchema(row, one) !== null
    if (parameter.name === 'fields') return value.split(',').every((one) => this.isNamed(parameter, one) || isPath(one))
    if (parameter.schema.enum) return parameter.schema.enum.includes(value)
    if (parameter.schema.type === 'integer') return this.isInteger(parameter, value)
    const { $ref, enum: names } = parameter.schema.items ?? {}
    const isIn = (one: string) => names.some((name: string) => name.toLowerCase() === one.toLowerCase())
    if (names) return value.split(',').every((one) => isIn(one) || isPath(one.replace(/^\w+\((.*)\)$/, '$1')))
    if ($ref) return this.validatorAt(pointerOf($ref))(value)
    // The pattern of a list of texts is in the schema itself, not behind a reference.
    const { pattern } = parameter.schema.items ?? parameter.schema
    return pattern === undefined || new RegExp(pattern, parameter.name === 'may' ? 'iu' : 'u').test(value)
  }

  /** True if a name matches the schema, in upper or lower case. */
  private isNamed({ schema }: Json, name: string): boolean {
    return this.at(pointerOf(schema.items.$ref)).enum.some((value: string) => value.toLowerCase() === name.toLowerCase())
  }

  private isInteger({ schema: { minimum = Number.NEGATIVE_INFINITY } }: Json, value: string): boolean {
    return /^-?\d+$/.test(value) && Number(value) >= minimum
  }

  /** Returns every combination of operation, status and code in the document, in the form of `met`. */
  get described(): string[] {
    return Object.values(this.document.paths).flatMap((item: Json) =>
      Object.values(item).flatMap(({ operationId, responses }: Json) =>
        Object.entries(responses ?? {}).flatMap(([status, response]: [string, Json]) =>
          this.codesOf(response).map((code) => `${operationId} ${status}${code}`),
        ),
      ),
    )
  }

  private codesOf(response: Json): string[] {
    if (!response.$ref) return ['']
    const { schema } = this.at(pointerOf(response.$ref)).content['application/json']
    return schema.properties.Error.properties.Code.enum.map((code: string) => ` ${code}`)
  }

  /** Returns faults of a response to a path or method that the document does not have. */
  private faultsOutside(target: string, method: string, answer: ReceivedAnswer): string[] {
    if (FILES.test(target) || this.isRefusedBefore(answer) || (method === 'HEAD' && answer.status >= 400)) return []
    return [`the document has no ${method} ${target}, which is answered ${answer.status}`]
  }

  /** Returns faults in the results of created, updated and unchanged rows, which the document describes in words. */
  private resultFaults({ operationId, responses }: Json, { text, headers }: ReceivedAnswer): string[] {
    const isLines = new Map(headers).get('content-type')?.startsWith('application/x-ndjson')
    const results: Json[] = isLines ? (Bun.JSONL.parse(text) as Json[]) : [JSON.parse(text)].flat()
    const { $ref } = responses[201].content['application/json'].schema
    return results.flatMap(({ result, row, ...others }) => [
      ...(RESULTS.includes(result) && Object.keys(others).length === 0 ? [] : [`${operationId} answers ${text}`]),
      ...this.schemaFaults(pointerOf($ref), row, 'the row'),
    ])
  }

  private isRefusedBefore({ status, text }: ReceivedAnswer): boolean {
    return status >= 400 && (text === '' || BEFORE_OPERATIONS.includes(codeOf(text)))
  }

  private headerFaults(described: Record<string, Json>, { headers }: ReceivedAnswer): string[] {
    const faults: string[] = []
    const values = new Map(headers)
    const pointers = new Map(Object.entries(described).map(([name, { $ref }]) => [name.toLowerCase(), pointerOf($ref)]))
    for (const [name, pointer] of pointers) {
      const value = values.get(name)
      if (value !== undefined) faults.push(...this.valueFaults([...pointer, 'schema'], value, `the header ${name}`))
      else if (this.at(pointer).required) faults.push(`the header ${name} is missing`)
    }
    for (const name of values.keys())
      if (!pointers.has(name) && !UNDESCRIBED.test(name)) faults.push(`the header ${name} is not described`)
    if (values.has('retryafter') && values.get('retryafter') !== values.get('retry-after'))
      faults.push('the headers RetryAfter and Retry-After differ')
    return faults
  }

  /** Returns faults of a text by a schema. If the schema is of an integer, the text is read as one. */
  private valueFaults(pointer: readonly string[], text: string, what: string): string[] {
    const value = this.at(pointer).type === 'integer' && /^-?\d+$/.test(text) ? Number(text) : text
    return this.schemaFaults(pointer, value, what)
  }

  private bodyFaults(pointer: readonly string[], content: Json, { text, headers }: ReceivedAnswer, row: string | null): string[] {
    if (content === undefined) return text === '' ? [] : ['there is a body where none is described']
    const type = new Map(headers).get('content-type') ?? ''
    const media = type.split(';')[0] as string
    if (!content[media]) return [`the media type ${type} is not described`]
    if (media !== 'application/json') return []
    const paths: string[] = []
    const value = JSON.parse(text, (_, inner) => this.withoutPaths(row, inner, paths))
    const schema = [...pointer, 'content', media, 'schema']
    // The answer to an array of rows is an array.
    const rows = Array.isArray(value) && this.at(schema).$ref?.endsWith('Written') ? value : [value]
    return [...paths, ...rows.flatMap((one) => this.schemaFaults(schema, one, 'the body'))]
  }

  /** Checks the members of an object that are described only in words, and returns the object without them. */
  private withoutPaths(row: string | null, value: Json, faults: string[]): Json {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const kept = Object.entries(value).filter(([name, inner]) => {
      const schema = this.isListed(row, name) ? null : this.inWords.valueSchema(row, name)
      if (schema && inner !== null && !this.ajv.validate(schema, inner)) faults.push(`${name} ${this.ajv.errorsText()}`)
      return schema === null
    })
    return Object.fromEntries(kept)
  }

  private isListed(row: string | null, name: string): boolean {
    return row !== null && name in this.at(['components', 'schemas', row, 'properties'])
  }

  private schemaFaults(pointer: readonly string[], value: unknown, what: string): string[] {
    const validate = this.validatorAt(pointer)
    if (validate(value)) return []
    return (validate.errors ?? []).map(({ instancePath, message }) => `${what}${instancePath} ${message}`)
  }

  private validatorAt(pointer: readonly string[]): ValidateFunction {
    return this.validators.getOrInsertComputed(pointer.join('\n'), () => {
      const parts = pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')))
      return compiled.getOrInsertComputed(this.textOf(pointer), () => this.ajv.compile({ $ref: `api#/${parts.join('/')}` }))
    })
  }

  /** Validator. It is created when a schema must be compiled that no earlier document had. */
  private get ajv(): Ajv {
    if (this.compiler) return this.compiler
    this.compiler = new Ajv({ strict: false, validateSchema: false, logger: false })
    addFormats(this.compiler)
    return this.compiler.addSchema(this.document, 'api')
  }

  /** Returns the text of a schema and of all schemas to which it refers. */
  private textOf(pointer: readonly string[]): string {
    const texts = new Map<string, string>()
    const add = ($ref: string) => {
      if (texts.has($ref)) return
      const text = this.texts.getOrInsertComputed($ref, () => JSON.stringify(this.at(pointerOf($ref))))
      texts.set($ref, text)
      for (const [, inner = ''] of text.matchAll(REFERENCE)) add(inner)
    }
    const text = JSON.stringify(this.at(pointer))
    for (const [, inner = ''] of text.matchAll(REFERENCE)) add(inner)
    return [text, ...[...texts].flat()].join('\n')
  }

  private at(pointer: readonly string[]): Json {
    return pointer.reduce((value: Json, part) => value[part], this.document)
  }
}

/**
 * True if NDJSON is described only in words: if it were a media type of the document, some generated clients could not read
 * pages.
 */
function isInWords({ description }: Json, { status, headers }: ReceivedAnswer): boolean {
  const [media = ''] = (new Map(headers).get('content-type') ?? '').split(';')
  return status < 300 && media === 'application/x-ndjson' && description.includes(media)
}

/** Returns properties of the schema that the object lacks, also in its objects. */
function missing({ properties }: Json, object: Json, what: string): string[] {
  return Object.entries<Json>(properties).flatMap(([name, schema]) => {
    if (!(name in object)) return schema['x-through'] ? [] : [`${what} has no ${name}`]
    return schema.properties && object[name] !== null ? missing(schema, object[name], `${what}.${name}`) : []
  })
}

/** Returns the JSON pointer of a reference such as `#/components/headers/ETag`. */
function pointerOf($ref: string): string[] {
  return $ref.slice(2).split('/')
}

/** Returns the parameters of a target, decoded; null if they cannot be decoded. */
function piecesOf(target: string): [string, string][] | null {
  const query = target.includes('?') ? target.slice(target.indexOf('?') + 1) : ''
  try {
    return query
      .split('&')
      .filter((piece) => piece !== '')
      .map((piece) => {
        const [name = '', ...rest] = piece.replaceAll('+', ' ').split('=')
        return [decodeURIComponent(name), decodeURIComponent(rest.join('='))]
      })
  } catch {
    return null
  }
}

/**
 * `OF_KEYS` matches faults in the keys or the zone of a summary: the document describes only their form. `LONG_NUMBER` matches
 * numbers of more than 50 digits, and exponents of three digits: they may be accepted although they are not described.
 */
const OF_KEYS = /"(?:InvalidSort|InvalidGroupBy|InvalidZone|InvalidAggregate|TooManyGroups)"|A stream has every row/
const LONG_NUMBER = /\d{51}|e[+-]?\d{3}/i

const ONCE = new Set(['page', 'pagesize', 'bom', 'excel', 'locale', 'may'])

/**
 * True for rules that a schema cannot express: valid cursors, the size of long numbers, and parameters that may be given only
 * once.
 */
function isUncertain(at: number, pieces: readonly [string, string][]): boolean {
  const [name = '', value = ''] = pieces[at] ?? []
  const lower = name.toLowerCase()
  const isAgain = pieces.findIndex(([other]) => other.toLowerCase() === lower) < at
  // Parameters that choose the form of a CSV can be wrong because of the header Accept.
  const isOfCsv = ((lower === 'bom' || lower === 'excel') && value === '1') || lower === 'locale'
  return lower === 'cursor' || isOfCsv || LONG_NUMBER.test(value) || (isAgain && ONCE.has(lower))
}

function codeOf(text: string): string {
  return text === '' ? '' : (JSON.parse(text)?.Error?.Code ?? '')
}

/** Decodes one byte of ASCII. Other bytes match no path of the server. */
function decodeEscape(code: string): string {
  const character = String.fromCharCode(Number.parseInt(code.slice(1), 16))
  return /[\w.-]/.test(character) ? character : code
}

const readers = new Map<Roles | null, RightsReader>()
const known = { true: new Map<GrantedRights, Conformance>(), false: new Map<GrantedRights, Conformance>() }

/**
 * Returns the checks of a key's answers by the document that this key gets. The document has companies, employees, absences, and
 * the named views of `roles`. Each text of rights has one document in a process.
 */
export function conformanceOf(
  key: Pick<StoredRights, 'rights' | 'addresses'> & Partial<StoredRights>,
  takesTokens = false,
  roles: Roles | null = null,
): Conformance {
  const limits = parseRules('750/1m')
  const personLimits = takesTokens ? limits : null
  const views = roles?.views ?? []
  const facts = { baseUrl: 'http://127.0.0.1:3000', limits, anonymousLimits: limits, personLimits, documentNeedsKey: false }
  const rights = readers.getOrInsertComputed(roles, () => new RightsReader(entities, views, roles)).read(key)
  const ofViews = views.map((view) => rights.accessTo(view)).filter(({ read }) => read !== null)
  const accesses = [...entities.map((entity) => rights.accessTo(entity)), ...ofViews]
  return known[`${takesTokens}`].getOrInsertComputed(rights, () => new Conformance(describeApi(accesses, facts)))
}

/** Returns the checks by the document that a request without a key gets. */
export function conformance(takesTokens = false): Conformance {
  return conformanceOf({ rights: '*:read,*:write', addresses: null }, takesTokens)
}
