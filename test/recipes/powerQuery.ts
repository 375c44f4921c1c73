// Runs blocks of Power Query: reads them from stdin, sends the requests of their calls of Web.Contents, and prints each with its
// response; the first argument separates blocks, and ends the output of each. The language itself only runs in Excel and Power
// BI.
import { DefaultSettings, TaskUtils } from '@microsoft/powerquery-parser'

/** A request that Web.Contents builds. */
export interface WebRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

interface Node {
  readonly kind: string
  // biome-ignore lint/suspicious/noExplicitAny: the parser's tree has a type for each of its 60 kinds
  readonly [property: string]: any
}

type Value = string | readonly Value[] | { readonly [name: string]: Value }
/** Returns the value of a name; the caller may note which names are read. */
type NameReader = (name: string) => string

/** Encodes like .NET: only RFC 3986's unreserved characters stay. */
const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)

/** Returns the syntax tree. @throws Error with the parser's complaint */
async function parse(text: string): Promise<Node> {
  const task = await TaskUtils.tryLexParse(DefaultSettings, text)
  if (TaskUtils.isParseStageOk(task)) return task.ast as unknown as Node
  throw new Error(TaskUtils.isError(task) ? task.error.message : 'the block could not be read')
}

function* nodesOf(value: unknown): Generator<Node> {
  if (Array.isArray(value)) for (const one of value) yield* nodesOf(one)
  else if (typeof value === 'object' && value !== null) {
    if ('kind' in value) yield value as Node
    yield* nodesOf(Object.values(value))
  }
}

/** Returns the arguments if the node is a call of this function; else null. */
function argumentsOf({ kind, head, recursiveExpressions }: Node, name: string): Node[] | null {
  if (kind !== 'RecursivePrimaryExpression' || head.identifier?.literal !== name) return null
  return itemsOf(recursiveExpressions.elements[0])
}

function itemsOf(node: Node): Node[] {
  return node.content.elements.map(({ node: item }: Node) => item)
}

function evaluate(node: Node, read: NameReader): Value {
  const [number] = argumentsOf(node, 'Number.ToText') ?? []
  if (number) return evaluate(number, read)
  switch (node.kind) {
    case 'LiteralExpression':
      return node.literalKind === 'Text' ? node.literal.slice(1, -1).replaceAll('""', '"') : node.literal
    case 'IdentifierExpression':
      return read(node.identifier.literal)
    case 'ListExpression':
      return itemsOf(node).map((item) => evaluate(item, read))
    case 'RecordExpression':
      return Object.fromEntries(itemsOf(node).map(({ key, value }) => [key.literal, evaluate(value, read)]))
    case 'ArithmeticExpression':
      return `${evaluate(node.left, read)}${evaluate(node.right, read)}`
    default:
      throw new Error(`an argument of Web.Contents is a ${node.kind}, which this reader does not know`)
  }
}

const FIELDS = ['RelativePath', 'Query', 'Headers', 'ManualStatusHandling']

/**
 * Returns the requests of a block's calls of Web.Contents. @throws Error for a block that is not Power Query, or builds them in
 * another way
 */
export async function readWebRequests(block: string, read: NameReader): Promise<WebRequest[]> {
  const calls = [...nodesOf(await parse(block))].flatMap((node) => {
    const given = argumentsOf(node, 'Web.Contents')
    return given === null ? [] : [given.map((argument) => evaluate(argument, read))]
  })
  if (calls.length === 0) throw new Error('the block has no call of Web.Contents')
  return calls.map(([address, options = {}]) => {
    const strange = Object.keys(options).find((name) => !FIELDS.includes(name))
    if (strange) throw new Error(`Web.Contents has ${strange}, which this reader does not know`)
    const { RelativePath = '', Query = {}, Headers = {} } = options as Record<string, Value>
    // A list becomes several parameters of the same name.
    const parameters = Object.entries(Query as object).flatMap(([name, value]) =>
      [value].flat().map((text) => `${encode(name)}=${encode(text)}`),
    )
    const query = parameters.length === 0 ? '' : `?${parameters.join('&')}`
    return { url: `${address}/${RelativePath}${query}`, headers: Headers as Record<string, string> }
  })
}

/** Sends a request; prints it and its response. @returns the number of rows */
async function show({ url, headers }: WebRequest, port: string): Promise<number> {
  const answer = await fetch(url.replace('127.0.0.1:3000', `127.0.0.1:${port}`), { headers })
  // biome-ignore lint/suspicious/noExplicitAny: rows, or an error
  const body = (await answer.json()) as any
  console.log(`GET ${url}`)
  if (!answer.ok) {
    console.log(`${answer.status} ${body.Error.Code}: ${body.Error.Message}`)
    return 0
  }
  const ids = body.map(({ id }: { id: number }) => id)
  console.log(`${answer.status}, rows: ${ids.length}${ids.length > 0 ? `, from id ${ids[0]} to id ${ids.at(-1)}` : ''}`)
  return ids.length
}

/** Each page in turn, where a call has the page's number as a name, as its block does: until one is empty. */
async function run(block: string, environment: Record<string, string | undefined>) {
  const { ROSTER_URL = '', ROSTER_KEY = '', CONNECT_PORT = '' } = environment
  let isPaged = false
  for (let page = 1; page === 1 || isPaged; page++) {
    const requests = await readWebRequests(block, (name) => {
      if (name === 'ROSTER_URL') return ROSTER_URL
      if (name === 'ROSTER_KEY') return ROSTER_KEY
      if (name !== 'number') throw new Error(`the block has no value for ${name}`)
      isPaged = true
      return String(page)
    })
    let rows = 0
    for (const request of requests) rows += await show(request, CONNECT_PORT)
    if (rows === 0) return
  }
}

if (import.meta.main) {
  const separator = process.argv[2] as string
  for (const block of (await Bun.stdin.text()).split(separator)) {
    await run(block, process.env).catch((error) => console.log(String(error)))
    console.log(separator)
  }
}
