/** Where a text stops being JSON, and what could stand there. */
export interface JsonFault extends Place {
  /** The index in the text. */
  readonly at: number
  /** Continues "there must be". */
  readonly expected: string
}

/** 1 upwards. */
interface Place {
  readonly line: number
  /** In UTF-16 units, as editors count. */
  readonly column: number
}

// What may come next, by its name in a message.
const VALUE = 'a value'
const FIRST_VALUE = 'a value, or ]'
const NAME = "a property's name in double quotes"
const FIRST_NAME = `${NAME}, or }`
const COLON = 'a colon'
const MORE_VALUES = 'a comma, or ]'
const MORE_NAMES = 'a comma, or }'
const END = 'nothing more'
const REST = 'the rest of a text, and the quote that ends it'

const PUNCTUATION = '[]{},:'
const SPACE = /[ \t\n\r]*/y
const SCALAR = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y
const ESCAPE = /["\\/bfnrt]|u[\da-fA-F]{4}/y
const [LINE_FEED, FIRST_PRINTED, QUOTE, BACKSLASH] = [0x0a, 0x20, 0x22, 0x5c]
/** No entity has a hundredth of them; a body of a million must not hold up others while its fault is looked for. */
const TOKENS_MAX = 10_000

/**
 * The first place at which a text is not JSON, since `JSON.parse` does not say where; null: there is none within 10,000
 * values and signs. Each character is read once, and no value of the text is put into words. RFC 8259
 */
export function findJsonFault(text: string): JsonFault | null {
  /** What may follow the value that is read now, for each array and object around it. */
  const around: string[] = []
  let expected = VALUE
  let at = 0
  for (let tokens = 0; tokens < TOKENS_MAX; tokens++) {
    at = afterMatch(SPACE, text, at)
    if (at === text.length) return expected === END ? null : faultAt(text, at, expected)
    const first = text[at] as string
    const next = step(expected, first, around)
    if (next === null) return faultAt(text, at, expected)
    if (PUNCTUATION.includes(first)) at++
    else if (first === '"') {
      at = stringEnd(text, at)
      if (text.charCodeAt(at) !== QUOTE) return faultAt(text, at, REST)
      at++
    } else {
      const end = afterMatch(SCALAR, text, at)
      if (end === at) return faultAt(text, at, expected)
      at = end
    }
    expected = next
  }
  return null
}

/** What may come after something that begins with `first`; null: it may not stand here. */
function step(expected: string, first: string, around: string[]): string | null {
  const isValue = expected === VALUE || expected === FIRST_VALUE
  if (first === '[' || first === '{') {
    if (!isValue) return null
    around.push(first === '[' ? MORE_VALUES : MORE_NAMES)
    return first === '[' ? FIRST_VALUE : FIRST_NAME
  }
  if (first === ']' || first === '}') {
    const [empty, more] = first === ']' ? [FIRST_VALUE, MORE_VALUES] : [FIRST_NAME, MORE_NAMES]
    if (expected !== empty && expected !== more) return null
    around.pop()
    return around.at(-1) ?? END
  }
  if (first === ',') return expected === MORE_VALUES ? VALUE : expected === MORE_NAMES ? NAME : null
  if (first === ':') return expected === COLON ? VALUE : null
  if (isValue) return around.at(-1) ?? END
  return first === '"' && (expected === NAME || expected === FIRST_NAME) ? COLON : null
}

/** The index of the quote that ends a string, or of the first character that cannot stand in it. */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === QUOTE || unit < FIRST_PRINTED) return at
    if (unit !== BACKSLASH) continue
    const end = afterMatch(ESCAPE, text, at + 1)
    if (end === at + 1) return at
    at = end - 1
  }
  return text.length
}

/** The index behind what the pattern finds at `at`; `at` itself where it finds nothing. */
function afterMatch(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}

function faultAt(text: string, at: number, expected: string): JsonFault {
  return { ...placeOf(text, at), at, expected }
}

/** The line and the column of an index. */
export function placeOf(text: string, at: number): Place {
  let line = 1
  let start = 0
  for (let index = 0; index < at; index++)
    if (text.charCodeAt(index) === LINE_FEED) {
      line++
      start = index + 1
    }
  return { line, column: at - start + 1 }
}
