import type postgres from 'postgres'

const ROWS = { company: 10_000, employee: 20_000, absence: 100_000 }

/** Fills the tables with the same rows each time; the indexes are built after, which is faster. */
export async function loadRows(sql: postgres.Sql): Promise<typeof ROWS> {
  const indexes = await sql<{ name: string; definition: string }[]>`
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
    from pg_index join pg_class on pg_class.oid = indrelid
    where relname in ('company', 'employee', 'absence') and not indisunique`
  for (const { name } of indexes) await sql.unsafe(`drop index ${name}`)
  await sql`
    insert into company (name, enabled)
    select 'Company ' || n, n % 3 = 0 from generate_series(1, ${ROWS.company}::int) as n`
  await sql`
    insert into employee (first_name, last_name, job_title, started, company_id, company_key)
    select 'First' || n % 997, 'Last' || n, (array['Engineer', 'Planner', 'Director'])[1 + n % 3],
      timestamptz '2000-01-01Z' + n * interval '7 hours', c.id, c.name_key
    from generate_series(1, ${ROWS.employee}::int) as n join company c on c.id = 1 + n % 10000`
  await sql`
    insert into absence (status, employee_id, employee_key, type, reason, start, "end", period_days)
    select (array['Approved', 'Requested', 'Declined', 'Cancelled'])[1 + n % 4], e.id, e.display_name_key, 'Holiday',
      'Annual Leave', day, day + interval '2 days', n % 20
    from generate_series(1, ${ROWS.absence}::int) as n
    cross join lateral (select timestamptz '2020-01-01Z' + n::bigint * 7919 % 1000003 * interval '1 minute' as day) as planned
    join employee e on e.id = 1 + n % 20000`
  for (const { definition } of indexes) await sql.unsafe(definition)
  await sql`vacuum analyze`
  return ROWS
}
