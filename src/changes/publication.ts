import type { Ask } from './listenerStatements.ts'

/** What `sql/0011_publication.sql` makes. */
export const PUBLICATION = 'roster'

/** A table of ours, as the publication has it. */
interface Published {
  readonly table: string
  readonly relation: number
}

/** Tables that can be followed by it, and those that cannot. */
interface PublicationSurvey {
  readonly published: readonly Published[]
  readonly missing: readonly string[]
}

/**
 * For each table whether all of its rows are published as they were and are: each kind of write, no filter, every column,
 * computed ones too, and the row before whole. Versions before 18 have not what this asks for; JSON says so without an error.
 */
const selectPublished = `
select asked.name, pg_class.oid::text, coalesce(
  relreplident = 'f' and relpersistence = 'p' and pubinsert and pubupdate and pubdelete and pubtruncate
    and prrelid is not null and prqual is null and prattrs is null and to_jsonb(pg_publication) ->> 'pubgencols' = 's',
  false
)::text
from json_array_elements_text($1::text::json) as asked (name)
join pg_class on pg_class.oid = to_regclass(quote_ident(asked.name))
left join pg_publication on pubname = '${PUBLICATION}'
left join pg_publication_rel on prpubid = pg_publication.oid and prrelid = pg_class.oid`

export async function surveyPublication(ask: Ask, tables: readonly string[]): Promise<PublicationSurvey> {
  const rows = await ask(selectPublished, [JSON.stringify(tables)])
  const found = rows.filter(([, , isWhole]) => isWhole === 'true')
  const published = found.map(([table, relation]) => ({ table: table as string, relation: Number(relation) }))
  return { published, missing: tables.filter((name) => !published.some(({ table }) => table === name)) }
}
