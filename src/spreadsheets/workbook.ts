// Opens an .xlsx file: unpacks its parts within bounds, and reads the list of its sheets, its texts and formats. sheet.ts reads
// the rows. Runs in browsers, too.
import { unzipSync } from 'fflate'
import { type NumberFormat, numberFormatOf } from './numberFormats.ts'
import { decodeEntities, readXml } from './xml.ts'

/** Thrown for a file that cannot be read as a workbook. `message` says what to do. `row`: null if the fault is not in one row. */
export class WorkbookFault extends Error {
  constructor(
    message: string,
    readonly row: number | null = null,
  ) {
    super(message)
  }
}

/** Maximum size of a file in bytes. */
export const FILE_BYTES_MAX = 32 * 1024 * 1024
/** Maximum bytes of all parts together after unpacking: a small file may unpack to a thousand times its size. */
export const UNPACKED_BYTES_MAX = 256 * 1024 * 1024

/** A sheet of a workbook. */
interface SheetPart {
  readonly name: string
  /** Path in the file. */
  readonly path: string
  readonly isHidden: boolean
}

/** A workbook, whose sheets have not been read. */
export interface Workbook {
  readonly sheets: readonly SheetPart[]
  readonly texts: readonly string[]
  /** Formats by the index of a cell's style. */
  readonly formats: readonly NumberFormat[]
  /** True if days count from 1904, as in old files of the Macintosh. */
  readonly is1904: boolean
  /** Returns the XML of a part; null if the file has none. */
  partText(path: string): string | null
}

const ZIP = [0x50, 0x4b, 0x03, 0x04]
/** First bytes of an .xls, and of an .xlsx with a password. */
const COMPOUND = [0xd0, 0xcf, 0x11, 0xe0]
const startsWith = (bytes: Uint8Array, start: readonly number[]) => start.every((byte, index) => bytes[index] === byte)

/** Returns whether bytes begin like a workbook: an .xlsx, or one in the old format .xls. */
export function isWorkbook(bytes: Uint8Array): boolean {
  return startsWith(bytes, ZIP) || startsWith(bytes, COMPOUND)
}

/** Opens a workbook. @throws WorkbookFault */
export function openWorkbook(bytes: Uint8Array): Workbook {
  if (startsWith(bytes, COMPOUND))
    throw new WorkbookFault('it is an .xls, or has a password: save it as .xlsx without a password')
  if (!startsWith(bytes, ZIP)) throw new WorkbookFault('it is no .xlsx')
  if (bytes.length > FILE_BYTES_MAX) throw new WorkbookFault(`it has more than ${megabytes(FILE_BYTES_MAX)}: save it as CSV`)
  const parts = unpack(bytes)
  const partText = (path: string) => {
    const part = parts.get(path)
    return part === undefined ? null : new TextDecoder().decode(part)
  }
  const rootPath = relationsOf(partText('_rels/.rels'), '').find(({ type }) => type.endsWith('/officeDocument'))?.path
  const root = partText(rootPath ?? 'xl/workbook.xml')
  if (root === null) throw new WorkbookFault('it has no sheets: an .xlsx is a workbook, and this is another zip')
  const path = rootPath ?? 'xl/workbook.xml'
  const folder = path.slice(0, path.lastIndexOf('/') + 1)
  const relations = relationsOf(partText(`${folder}_rels/${path.slice(folder.length)}.rels`), folder)
  const pathOf = (end: string) => relations.find(({ type }) => type.endsWith(end))?.path ?? ''
  const { sheets, is1904 } = sheetsOf(root, relations)
  return {
    sheets,
    texts: textsOf(partText(pathOf('/sharedStrings'))),
    formats: formatsOf(partText(pathOf('/styles'))),
    is1904,
    partText,
  }
}

function megabytes(bytes: number): string {
  return `${bytes / 1024 / 1024} MB`
}

function unpack(bytes: Uint8Array): Map<string, Uint8Array> {
  let sum = 0
  try {
    const parts = unzipSync(bytes, {
      filter({ name, size, originalSize }) {
        if (!/\.(?:xml|rels)$/i.test(name)) return false
        // Memory is reserved for the unpacked size that the file states. A size that cannot be right is refused: packed bytes are
        // never much longer than unpacked bytes.
        if (size > originalSize * 1.1 + 1_024) throw new WorkbookFault('it is damaged: save it again')
        sum += originalSize
        if (sum > UNPACKED_BYTES_MAX)
          throw new WorkbookFault(`it unpacks to more than ${megabytes(UNPACKED_BYTES_MAX)}: save the sheet as CSV`)
        return true
      },
    })
    return new Map(Object.entries(parts))
  } catch (error) {
    if (error instanceof WorkbookFault) throw error
    throw new WorkbookFault('it is damaged: save it again')
  }
}

interface Relation {
  readonly id: string
  readonly type: string
  readonly path: string
}

/** Returns the relations of a part in `folder`. */
function relationsOf(xml: string | null, folder: string): Relation[] {
  const relations: Relation[] = []
  if (xml === null) return relations
  wellFormed(xml, (name, attributes) => {
    if (name !== 'Relationship') return
    const { Id: id = '', Type: type = '', Target: target = '' } = attributes()
    const path = target.startsWith('/') ? target.slice(1) : folder + target
    relations.push({ id, type, path: withoutDots(path) })
  })
  return relations
}

function withoutDots(path: string): string {
  const steps: string[] = []
  for (const step of path.split('/'))
    if (step === '..') steps.pop()
    else if (step !== '.') steps.push(step)
  return steps.join('/')
}

function sheetsOf(xml: string, relations: readonly Relation[]): { sheets: SheetPart[]; is1904: boolean } {
  const sheets: SheetPart[] = []
  let is1904 = false
  wellFormed(xml, (element, attributes) => {
    if (element === 'workbookPr') is1904 = /^(?:1|true)$/.test(attributes().date1904 ?? '')
    if (element !== 'sheet') return
    const given = attributes()
    const [, relation] = Object.entries(given).find(([name]) => name.endsWith(':id')) ?? []
    const path = relations.find(({ id, type }) => id === relation && type.endsWith('/worksheet'))?.path
    // A sheet without a worksheet, such as a chart, is skipped.
    if (path) sheets.push({ name: decodeEntities(given.name ?? ''), path, isHidden: (given.state ?? 'visible') !== 'visible' })
  })
  return { sheets, is1904 }
}

/** Returns the texts that cells share, without the phonetic readings of East Asian characters. */
function textsOf(xml: string | null): string[] {
  const texts: string[] = []
  if (xml === null) return texts
  let text: string | null = null
  let isText = false
  let isReading = false
  readParts(xml, {
    open(name) {
      if (name === 'si') text = ''
      if (name === 'rPh') isReading = true
      isText = name === 't'
    },
    close(name) {
      if (name === 'si' && text !== null) texts.push(unescapeControls(text))
      if (name === 'rPh') isReading = false
      if (name === 't') isText = false
    },
    text(part) {
      if (isText && !isReading && text !== null) text += part
    },
  })
  return texts
}

/** Returns a text in which codes such as `_x000D_` are replaced by the control characters that they stand for. */
export function unescapeControls(text: string): string {
  return text.includes('_x')
    ? text.replace(/_x([\dA-F]{4})_/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
    : text
}

function formatsOf(xml: string | null): NumberFormat[] {
  const formats: NumberFormat[] = []
  if (xml === null) return formats
  const codes = new Map<number, string>()
  let isOfCells = false
  readParts(xml, {
    open(name, attributes) {
      if (name === 'cellXfs') isOfCells = true
      else if (name === 'numFmt') {
        const { numFmtId, formatCode = '' } = attributes()
        codes.set(Number(numFmtId), decodeEntities(formatCode))
      } else if (name === 'xf' && isOfCells) {
        const id = Number(attributes().numFmtId ?? 0)
        formats.push(numberFormatOf(id, codes.get(id)))
      }
    },
    close(name) {
      if (name === 'cellXfs') isOfCells = false
    },
  })
  return formats
}

type Open = Parameters<typeof readXml>[1]['open']

function wellFormed(xml: string, open: Open): void {
  readParts(xml, { open })
}

/**
 * Reads the XML of one file of the workbook, and passes its elements to `reader`. @throws WorkbookFault if it is not well-formed
 */
export function readParts(xml: string, reader: Parameters<typeof readXml>[1]): void {
  try {
    readXml(xml, reader)
  } catch (error) {
    if (error instanceof WorkbookFault) throw error
    throw new WorkbookFault('it is damaged: save it again')
  }
}
