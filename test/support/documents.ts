import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '../..')

/** A command in a page, and the answer printed after it. */
export interface Exchange {
  /** Line of the page at which the command begins. */
  readonly line: number
  /** Program that the command is for. */
  readonly program: Program
  readonly command: string
  /** `http`: with the head; `json`: only the body; `text`: output of a program. */
  readonly language: string
  readonly answer: string
}

/** A file that a page shows in full, under a comment with its path. */
export interface ShownFile {
  readonly path: string
  readonly text: string
}

interface Block {
  readonly language: string
  readonly text: string
  readonly index: number
}

/** Address of `npm start`, which commands and answers contain. */
export const SHOWN_URL = 'http://127.0.0.1:3000'

const BLOCK = /^```(\w+)\n([\s\S]*?)^```$/gm
const ANSWERS = ['http', 'json', 'text']
/** Matches commands of a shell that are run: requests, the command line, and variables for both. */
const SHELL_COMMAND = /\bcurl |(?:^|\()http |\broster -- |\bdevelopment\.key\b/m
type Program = keyof typeof programs
/** Functions that tell which blocks are run, by the language of the block. */
const programs = {
  sh: (text: string) => SHELL_COMMAND.test(text),
  python: () => true,
  http: (text: string) => /^(?:@|###)/.test(text),
  powerquery: () => true,
}
const SHOWN_PATH = /^(?:\/\/|--) ((?:src|sql|test)\/\S+)\n/

export function readPage(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

function blocksOf(page: string): Block[] {
  return [...page.matchAll(BLOCK)].map(([, language = '', text = ''], at, all) => ({
    language,
    text,
    index: all[at]?.index ?? 0,
  }))
}

/** Returns the program that a block is a command for; null if it is none. */
function programOf({ language, text }: Block): Program | null {
  const isRun = programs[language as Program]
  return isRun?.(text) ? (language as Program) : null
}

/** Returns the commands of a page in order, each with its answer: the next block, or '' if that is another command. */
export function exchangesOf(page: string): Exchange[] {
  const blocks = blocksOf(page)
  return blocks.flatMap((block, at) => {
    const program = programOf(block)
    if (program === null) return []
    const next = blocks[at + 1]
    const isAnswered = next && ANSWERS.includes(next.language) && programOf(next) === null
    const answer = isAnswered ? next : { language: 'text', text: '' }
    const line = page.slice(0, block.index).split('\n').length
    return [{ line, program, command: block.text.trimEnd(), language: answer.language, answer: answer.text }]
  })
}

export function shownFilesOf(page: string): ShownFile[] {
  return blocksOf(page).flatMap(({ text }) => {
    const [heading, path] = SHOWN_PATH.exec(text) ?? []
    return heading && path ? [{ path, text: text.slice(heading.length) }] : []
  })
}

/**
 * Returns the files of a page that a server for the page needs in addition: files that the project lacks, and files of the
 * example, which a fork may already have.
 */
export function newFilesOf(page: string): ShownFile[] {
  return shownFilesOf(page).filter(({ path }) => isOfExample(path) || !existsSync(join(ROOT, path)))
}

/** Returns whether a file declares or migrates the entity that docs/entities.md adds. */
export function isOfExample(path: string): boolean {
  return /(^|[/_])office\.(ts|sql)$/.test(path)
}

/** Matches headers that a page may leave out: headers of every answer, ETags, and Link, which repeats other links. */
const REPEATED =
  /^(Date|Content-Length|ETag|X-Request-Id|X-RateLimit-(Limit|Remaining|Reset)|RateLimit|RateLimit-Policy|Link): |^Content-Type: application\/json; charset=utf-8$|^X-Content-Type-Options: nosniff$|^Cache-Control: no-store$/

/** Returns an answer for a comparison: without parts that always differ, and without repeated headers that `shown` leaves out. */
export function canonical({ language, answer: shown }: Exchange, answer: string): string {
  if (language === 'text') return maskText(answer.trim())
  if (language === 'json') return maskHttp(withoutBreaks(answer))
  const names = new Set([...shown.matchAll(/^([\w-]+): /gm)].map(([, name]) => name))
  return maskHttp(
    responsesOf(answer)
      .map(({ head, body }) => {
        const kept = head.filter((line) => !REPEATED.test(line) || names.has(line.slice(0, line.indexOf(':'))))
        return `${kept.join('\n')}\n\n${withoutBreaks(body)}`
      })
      .join('\n'),
  )
}

function responsesOf(text: string): { head: string[]; body: string }[] {
  return text.split(/\n+(?=HTTP\/1\.1 )/).map((response) => {
    const [, head = '', body = ''] = /^([\s\S]*?)(?:\n\n([\s\S]*))?$/.exec(response.trim()) ?? []
    return { head: head.replace(/\n[ \t]+/g, ' ').split('\n'), body }
  })
}

/** Removes line breaks, which pages add to long lines; bodies have none. */
function withoutBreaks(body: string): string {
  return body.trim().replace(/\n\s*/g, '')
}

function maskHttp(text: string): string {
  return text
    .replace(/^(Date|X-RateLimit-Reset|RateLimit): .*$/gm, '$1')
    .replace(/^(Retry-?After): \d+$/gm, '$1')
    .replace(/retry after \d+ s\b/g, 'retry after s')
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'uuid')
    .replace(/(?<="(?:token|next)":")[\w-]{20,}/g, 'token')
    .replace(/(?<="at":")\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'time')
    .replace(/\bcursor=[\w-]{20,}/g, 'cursor')
    .replace(/(?<="\w{4}-)\d+(?=\\?")/g, 'version')
}

function maskText(text: string): string {
  return (
    text
      .replace(/roster_[0-9A-Za-z]{10}_[0-9A-Za-z]{43}/g, 'key')
      .replace(/(?<=\(|, |"id":"| {2}|key is )[0-9A-Za-z]{10}(?=\)|,|;|"| {2})/g, 'id')
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'time')
      // Uses of keys are stored every ten seconds, and the column is as wide as its widest cell.
      .replace(/(?:time|never) +(?=active|revoked)/g, 'used ')
      .replace(/LAST USED +/g, 'LAST USED ')
      // The number of migrations grows with every version.
      .replace(/\b\d{4}_(?=\w+\.sql)/g, 'number_')
  )
}

/** Returns the page with new answers in place of those that differ. */
export function withAnswers(page: string, outputs: readonly string[]): string {
  const exchanges = exchangesOf(page)
  let at = 0
  let written = ''
  let rest = page
  for (const exchange of exchanges) {
    const output = outputs[at++] ?? ''
    if (canonical(exchange, exchange.answer) === canonical(exchange, output)) continue
    const fence = `\`\`\`${exchange.language}\n`
    const begin = rest.indexOf(fence + exchange.answer, rest.indexOf(exchange.command)) + fence.length
    written += `${rest.slice(0, begin)}${printed(exchange, output)}\n`
    rest = rest.slice(begin + exchange.answer.length)
  }
  return written + rest
}

function printed({ language, answer: shown }: Exchange, output: string): string {
  if (language === 'text') return output
  if (language === 'json') return broken(output)
  return responsesOf(output)
    .map(({ head, body }) => {
      const kept = head.filter((line) => !REPEATED.test(line) || shown.includes(`${line.slice(0, line.indexOf(':'))}: `))
      const lines = kept.map((line) => line.replaceAll(', <', ',\n  <')).join('\n')
      return body.trim() === '' ? lines : `${lines}\n\n${broken(body.trim())}`
    })
    .join('\n\n')
}

const WIDTH = 110

/** Adds line breaks to JSON: each row of a list begins a line, and long lines end at a comma. JSON that has line breaks stays. */
function broken(json: string): string {
  if (!/^[[{]/.test(json) || json.includes('\n')) return json
  const lines: string[] = []
  let line = ''
  let comma = 0
  let depth = 0
  const end = () => {
    lines.push(line.slice(0, comma))
    line = ` ${line.slice(comma)}`
    comma = 0
  }
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[^"]/g)) {
    line += token
    if (token === '[' || token === '{') depth++
    if (token === ']' || token === '}') depth--
    if (line.length > WIDTH && comma > 0) end()
    if (token === ',') comma = line.length
    if (token === ',' && depth === 1 && json.startsWith('[')) end()
  }
  return [...lines, line].join('\n')
}
