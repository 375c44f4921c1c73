/** Text that is markup already: of `html`, which escapes, or a constant of ours. */
export class Markup {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Part = Markup | string | number | readonly Markup[]

/**
 * Markup with every string escaped. Numbers are coordinates: rounded to hundredths.
 * @throws Error for a number that is not finite
 */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(
    texts.map((text, index) => text + (index < parts.length ? write(parts[index] as Part) : '')).join(''),
  )
}

function write(part: Part): string {
  if (part instanceof Markup) return part.text
  if (typeof part === 'string') return escaped(part)
  if (typeof part === 'number') return coordinate(part)
  return part.map(({ text }) => text).join('')
}

// Neither XML nor HTML can carry control characters; an error message with a terminal's colours in it has some.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufffe\uffff]/g

function escaped(text: string): string {
  return Bun.escapeHTML(text.toWellFormed().replace(FORBIDDEN, '\ufffd'))
}

function coordinate(value: number): string {
  if (!Number.isFinite(value)) throw new Error(`${value} is no coordinate`)
  return String(Math.round(value * 100) / 100)
}
