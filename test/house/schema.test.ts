import { beforeAll, describe, expect, test } from 'bun:test'
import { boolean, defineEntity, identity, text } from '../../src/model/entity.ts'
import { loadEntities } from '../../src/registry.ts'
import { useDatabase } from '../support/database.ts'

interface Column {
  type: string
  collation: string | null
  required: boolean
  generated: 'stored' | 'identity' | null
  fallback: string | null
}

/** Beside our own, of which none does without an index. */
const note = defineEntity('Note', { id: identity(), text: text({ indexed: false }), read: boolean() })
const NOTE = `
  create table note (
    id bigint generated always as identity (maxvalue 9007199254740991) primary key,
    text text collate "und-x-icu",
    read boolean not null default false
  );
  create index note_read_sorted on note (read, id)`

const entities = [...(await loadEntities()), note]
const { sql } = useDatabase()
beforeAll(async () => {
  await sql.unsafe(NOTE)
})

async function columnsOf(table: string): Promise<Map<string, Column>> {
  const rows = await sql`
    select a.attname, format_type(a.atttypid, a.atttypmod) as type, c.collname as collation, a.attnotnull as required,
      case when a.attgenerated = 's' then 'stored' when a.attidentity = 'a' then 'identity' end as generated,
      case when a.attgenerated = '' then pg_get_expr(d.adbin, d.adrelid) end as fallback
    from pg_attribute a
    left join pg_collation c on c.oid = a.attcollation
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attrelid = ${table}::regclass and a.attnum > 0 and not a.attisdropped`
  return new Map(rows.map(({ attname, ...column }) => [attname, column as unknown as Column]))
}

/** The indexes that serve a whole table, as `name, id` or `name desc, id`. */
async function indexesOf(table: string): Promise<string[]> {
  const rows = await sql`
    select (
      select string_agg(a.attname || case i.indoption[n - 1] when 0 then '' when 3 then ' desc' else ' otherwise' end, ', ' order by n)
      from generate_series(1, i.indnkeyatts) as n
      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[n - 1]
      where i.indcollation[n - 1] = a.attcollation
    ) as keys
    from pg_index i
    join pg_class c on c.oid = i.indexrelid
    join pg_am m on m.oid = c.relam
    where i.indrelid = ${table}::regclass and i.indpred is null and i.indisvalid and m.amname = 'btree'`
  return rows.map(({ keys }) => keys as string)
}

test('the entities that are compared with the database include Absence, Company and Employee', () => {
  expect(entities.map(({ table }) => table)).toEqual(expect.arrayContaining(['absence', 'company', 'employee']))
})

for (const entity of entities)
  describe(entity.name, () => {
    let columns: Map<string, Column>
    let indexes: string[]
    beforeAll(async () => {
      columns = await columnsOf(entity.table)
      indexes = await indexesOf(entity.table)
    })

    for (const property of entity.properties)
      describe(property.name, () => {
        const { column, kind, indexed } = property
        test('has a column with its type, collation (D26), NOT NULL and default, which is generated if read-only (D8)', () => {
          const readOnly = property === entity.id ? 'identity' : 'stored'
          expect(columns.get(column)).toEqual({
            type: kind.columnType,
            collation: kind.columnType === 'text' ? 'und-x-icu' : null,
            required: !kind.nullable,
            generated: property.writable ? null : readOnly,
            fallback: kind.default,
          })
        })

        if (property !== entity.id)
          test(indexed ? 'D26: has one index that serves both directions of its sort' : 'has no index for its sort', () => {
            const begun = indexes.filter((keys) => keys.split(/[ ,]/, 1)[0] === column)
            expect(begun.toSorted()).toEqual([...(property.unique ? [column] : []), ...(indexed ? [`${column}, id`] : [])])
          })
      })

    test('has its id as the primary key, and no id can be over 2^53-1 (D6)', async () => {
      const [row] = await sql`
        select pg_get_constraintdef(oid) as key,
          (select max_value from pg_sequences where sequencename = ${`${entity.table}_id_seq`}) as max
        from pg_constraint where conrelid = ${entity.table}::regclass and contype = 'p'`
      expect([row?.key, row?.max]).toEqual(['PRIMARY KEY (id)', '9007199254740991'])
    })

    for (const { constraint, later, earlier } of entity.rules)
      test(`the constraint ${constraint} checks that ${later.name} is not before ${earlier.name}`, async () => {
        const [row] = await sql`
          select pg_get_constraintdef(oid) as rule from pg_constraint
          where conrelid = ${entity.table}::regclass and contype = 'c' and convalidated and conname = ${constraint}`
        expect(row?.rule?.replaceAll('"', '')).toBe(`CHECK ((${later.column} >= ${earlier.column}))`)
      })

    for (const { name, column, reference } of entity.properties)
      if (reference)
        test(`${name} is a foreign key to ${reference.table}, with ON UPDATE CASCADE if a property is copied along it`, async () => {
          const { keyColumn, sourceColumn } = reference.copy ?? {}
          const [own, theirs] = keyColumn ? [`${column}, ${keyColumn}`, `id, ${sourceColumn}`] : [column, 'id']
          const cascade = keyColumn ? ' ON UPDATE CASCADE' : ''
          const rows = await sql`
            select pg_get_constraintdef(oid) as key from pg_constraint
            where conrelid = ${entity.table}::regclass and contype = 'f' and convalidated`
          expect(rows.map(({ key }) => key)).toContain(`FOREIGN KEY (${own}) REFERENCES ${reference.table}(${theirs})${cascade}`)
        })

    for (const { name, column, reference } of entity.properties)
      if (reference?.copy)
        test(`a check refuses ${name} without its copied value, and the copied value without ${name} (D16)`, async () => {
          // As a definition: a row with this fault alone would need a value for each other required property.
          const [row] = await sql`
            select pg_get_constraintdef(oid) as rule from pg_constraint
            where conrelid = ${entity.table}::regclass and contype = 'c' and convalidated
              and conname = ${`${entity.table}_${column}_found`}`
          const keyColumn = reference.copy?.keyColumn
          expect(row?.rule?.replaceAll('"', '')).toBe(`CHECK (((${column} IS NULL) = (${keyColumn} IS NULL)))`)
        })
  })

test('the source of every copied property is never null, because a foreign key does not check nulls', async () => {
  const copies = entities.flatMap(({ properties }) => properties.flatMap(({ reference }) => reference ?? []))
  for (const { table, copy } of copies)
    if (copy) expect((await columnsOf(table)).get(copy.sourceColumn)).toMatchObject({ required: true, generated: 'stored' })
  expect(copies.length).toBeGreaterThan(0)
})
