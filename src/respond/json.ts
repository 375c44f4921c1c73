import { type Entity, type Group, isGroup, type Property } from '../model/entity.ts'
import type { Row } from '../model/sql.ts'

const writers = new WeakMap<Entity, (row: Row, offset: number) => string>()

/**
 * The entity as JSON text, made from PostgreSQL's text without a value in between. `offset` is where the entity's
 * columns begin in the row.
 */
export function writeEntity(entity: Entity, row: Row, offset = 0): string {
  let write = writers.get(entity)
  if (!write) writers.set(entity, (write = compileWriter(entity)))
  return write(row, offset)
}

function compileWriter(entity: Entity): (row: Row, offset: number) => string {
  const positions = new Map(entity.properties.map((property, index) => [property, index]))
  const parts = entity.members.map((member, index) => {
    const key = isGroup(member) ? member.key : (member.path.at(-1) as string)
    return { prefix: `${index === 0 ? '{' : ','}${JSON.stringify(key)}:`, write: memberWriter(member, positions) }
  })
  return (row, offset) => {
    let json = ''
    for (const { prefix, write } of parts) json += prefix + write(row, offset)
    return `${json}}`
  }
}

function memberWriter(
  member: Property | Group,
  positions: Map<Property, number>,
): (row: Row, offset: number) => string {
  return isGroup(member) ? groupWriter(member, positions) : valueWriter(member, positions.get(member) as number)
}

function valueWriter(property: Property, position: number) {
  const { writeJson } = property.kind
  return (row: Row, offset: number) => {
    const text = row[offset + position]
    return text === null || text === undefined ? 'null' : writeJson(text)
  }
}

/** An object without a value in any part is null. */
function groupWriter(group: Group, positions: Map<Property, number>) {
  const parts = group.properties.map((property, index) => ({
    position: positions.get(property) as number,
    prefix: `${index === 0 ? '{' : ','}${JSON.stringify(property.path.at(-1))}:`,
    write: valueWriter(property, positions.get(property) as number),
  }))
  return (row: Row, offset: number) => {
    if (parts.every(({ position }) => row[offset + position] === null)) return 'null'
    let json = ''
    for (const { prefix, write } of parts) json += prefix + write(row, offset)
    return `${json}}`
  }
}
