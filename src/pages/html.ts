/** Text that is markup already: of `html`, which escapes, or a constant of ours. */
export class Markup {
  constructor(readonly text: string) {}
}

type Part = Markup | string | number | readonly Markup[]

/** Markup with every string in it escaped, for texts and for attributes in quotes. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(String.raw({ raw: texts }, ...parts.map(write)))
}

function write(part: Part): string {
  if (part instanceof Markup) return part.text
  if (typeof part === 'string' || typeof part === 'number') return Bun.escapeHTML(part)
  return part.map(({ text }) => text).join('')
}
