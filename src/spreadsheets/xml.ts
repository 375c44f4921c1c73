// Reads XML with saxen, which does not expand entities that a document defines: a small document cannot expand into a huge text.
/// <reference path="./saxen.d.ts" />
import { Parser } from 'saxen'

/** Functions that are called for the elements and texts of a document. Names come without their prefix. */
export interface XmlReader {
  open(name: string, attributes: () => Readonly<Record<string, string>>): void
  close?(name: string): void
  text?(text: string): void
}

/** Reads a document. @throws Error if the document is not well-formed, or whatever the reader throws */
export function readXml(xml: string, reader: XmlReader): void {
  const parser = new Parser()
  let fault: unknown = null
  // saxen would swallow errors of its callbacks, so the first error is kept, and thrown at the end.
  const guarded =
    <Args extends unknown[]>(handler: (...args: Args) => void) =>
    (...args: Args) => {
      if (fault !== null) return
      try {
        handler(...args)
      } catch (error) {
        fault = error
        parser.stop()
      }
    }
  parser.on('error', (error) => {
    fault ??= error
  })
  parser.on(
    'openTag',
    guarded((name, attributes) => reader.open(withoutPrefix(name), attributes)),
  )
  parser.on(
    'closeTag',
    guarded((name) => reader.close?.(withoutPrefix(name))),
  )
  parser.on(
    'text',
    guarded((text) => reader.text?.(decodeEntities(text))),
  )
  parser.on(
    'cdata',
    guarded((text) => reader.text?.(text)),
  )
  parser.parse(xml)
  if (fault !== null) throw fault
}

function withoutPrefix(name: string): string {
  return name.slice(name.indexOf(':') + 1)
}

const ENTITY = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(amp|lt|gt|quot|apos));/gi
const NAMED: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
])

/** Replaces the entities of XML. saxen's own function loses characters over U+FFFF. */
export function decodeEntities(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(ENTITY, (entity, decimal, hexadecimal, name) => {
    if (name !== undefined) return NAMED.get(name.toLowerCase()) ?? entity
    const point = decimal === undefined ? Number.parseInt(hexadecimal, 16) : Number(decimal)
    return point <= 0x10ffff ? String.fromCodePoint(point) : entity
  })
}
