/** A request of an .http file, as an editor sends it. */
export interface FileRequest {
  readonly name: string
  readonly method: string
  readonly url: string
  /** Headers, each `Name: value`. */
  readonly headers: readonly string[]
  /** Body; '' if there is none. */
  readonly body: string
}

const SEPARATOR = /^###/m
const VARIABLE = /^@(\w+) *= *(.*)$/gm
const COMMENT = /^(#|\/\/)/
const CONTINUED = /^\s+[?&]/

/**
 * Parses an .http file, by the syntax that VS Code's REST Client and JetBrains' HTTP Client share: `###` and a name, `@name =
 * value` and `{{name}}`, a query string over several lines, headers, an empty line, a body. `given`: values that replace those of
 * the file. @throws Error for a name without a value, or a line with another syntax
 */
export function readRequests(text: string, given: Readonly<Record<string, string>> = {}): FileRequest[] {
  const own = Object.fromEntries([...text.matchAll(VARIABLE)].map(([, name, value = '']) => [name, value.trim()]))
  const values: Record<string, string> = { ...own, ...given }
  const filled = text.replace(VARIABLE, '').replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
    if (values[name] === undefined) throw new Error(`{{${name}}} has no value`)
    return values[name]
  })
  const [before = '', ...sections] = filled.split(SEPARATOR)
  if (before.trim() !== '') throw new Error(`a request begins with ### and its name, not with "${before.trim()}"`)
  return sections.map(readRequest)
}

function readRequest(section: string): FileRequest {
  const [name = '', ...lines] = section.split('\n').filter((line) => !COMMENT.test(line))
  const rest = lines.join('\n').trim()
  const [, head = '', body = ''] = /^([\s\S]*?)(?:\n\s*\n([\s\S]*))?$/.exec(rest) ?? []
  const [first = '', ...others] = head.split('\n')
  const isHeaderAt = others.findIndex((line) => !CONTINUED.test(line))
  const count = isHeaderAt === -1 ? others.length : isHeaderAt
  const [, method, address] = /^([A-Z]+) (\S+)$/.exec(first) ?? []
  if (!method || !address) throw new Error(`"${first}" is not a method and an address`)
  const headers = others.slice(count)
  const odd = headers.find((line) => !/^[\w-]+: ./.test(line))
  if (odd !== undefined) throw new Error(`"${odd}" is not a header`)
  const url =
    address +
    others
      .slice(0, count)
      .map((line) => line.trim())
      .join('')
  return { name: name.trim(), method, url, headers, body: body.trim() }
}

/** Returns the curl command for the same request. */
export function curlOf({ method, url, headers, body }: FileRequest): string {
  const how = method === 'HEAD' ? ['-I'] : ['-i', '-X', method]
  const words = ['curl', ...how, ...headers.flatMap((header) => ['-H', header])]
  if (body !== '') words.push('--data-binary', body)
  return [...words, url]
    .map(quoted)
    .join(' ')
    .replace(/^'curl'/, 'curl')
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`
}
