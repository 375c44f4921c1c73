import { type Entity, isGroup, type Property } from '../model/entity.ts'
import { suggest } from '../model/nearest.ts'
import type { CsvRecord } from './csvText.ts'
import { FileFault } from './fileFault.ts'
import { counted } from './progress.ts'

/** Writes the records below a CSV's header as objects of JSON. */
export interface CsvWriter {
  /** The columns that clients do not write, as the file calls them. */
  readonly readOnly: readonly string[]
  /** @throws FileFault for a record with another number of cells */
  write(record: CsvRecord): string
}

/** `header`: names as in JSON or in parameters, in any case, with dots for parts. @throws FileFault for a name that is none */
export function csvWriter(entity: Entity, header: CsvRecord): CsvWriter {
  const columns = header.cells.map((name, index) => columnOf(entity, header, name ?? '', index))
  const cells = columns.flatMap((property, index) => (property.writable ? [{ property, index }] : []))
  if (cells.length === 0) throw new FileFault(header.line, 'none of these columns is one that clients write')
  const groups = Map.groupBy(cells, ({ property }) => (property.path.length > 1 ? (property.path[0] as string) : ''))
  const objectOf = (members: typeof cells, record: CsvRecord) =>
    members.flatMap(({ property, index }) => memberOf(property, record.cells[index] ?? null)).join()
  return {
    readOnly: columns.filter(({ writable }) => !writable).map(({ path }) => path.join('.')),
    write(record) {
      const { length } = record.cells
      if (length !== columns.length)
        throw new FileFault(
          record.line,
          `the row has ${counted(length, 'value')}, and the header ${counted(columns.length, 'name')}`,
        )
      const members = [...groups].map(([group, own]) => {
        const text = objectOf(own, record)
        return group === '' ? text : `${JSON.stringify(group)}:{${text}}`
      })
      return `{${members.filter((text) => text !== '').join()}}`
    },
  }
}

function columnOf(entity: Entity, { line, cells }: CsvRecord, name: string, index: number): Property {
  if (name.trim() === '') throw new FileFault(line, `column ${index + 1} has no name`)
  const member = entity.byName.get(name.toLowerCase().trim())
  if (!member) {
    const known = entity.properties.map(({ path }) => path.join('.'))
    throw new FileFault(line, `${entity.plural} have no property "${name}".${suggest(name, known)}`)
  }
  if (isGroup(member)) {
    const parts = member.properties.map(({ path }) => path.join('.'))
    throw new FileFault(line, `${name} is an object; its parts have columns of their own: ${parts.join(', ')}`)
  }
  if (cells.findIndex((other) => other?.toLowerCase().trim() === name.toLowerCase().trim()) < index)
    throw new FileFault(line, `${name} is there twice`)
  return member
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** An empty cell of a property that is never null is left out. What fits no type goes as it is, and the server says what it must be. */
function memberOf({ kind, path }: Property, cell: string | null): string[] {
  const isEmpty = cell === null || (cell === '' && kind.name !== 'text')
  if (isEmpty && !kind.nullable) return []
  return [`${JSON.stringify(path.at(-1))}:${isEmpty ? 'null' : jsonOf(kind.name, cell)}`]
}

function jsonOf(kind: Property['kind']['name'], cell: string): string {
  const lower = cell.toLowerCase()
  if (kind === 'boolean' && (lower === 'true' || lower === 'false')) return lower
  if ((kind === 'integer' || kind === 'decimal') && NUMBER.test(cell)) return cell
  return JSON.stringify(cell)
}
