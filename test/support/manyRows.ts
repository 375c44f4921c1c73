import type postgres from 'postgres'

const LOADS = {
  company: (count: number) => `
    insert into company (name, enabled)
    select case when n % 50 <> 0 then 'Company ' || n * 7919 % 5003 end, n % 3 = 0 from generate_series(1, ${count}) as n`,
  employee: (count: number) => `
    insert into employee (
      employee_number, title, first_name, middle_name, last_name, known_as, work_email, work_phone, work_mobile,
      company_id, company_key, department, division, location, job_title, job_level, manager_id, manager_key,
      type, status, started, continuous_start, contract_end, employment_end
    )
    select
      'E' || n, 'T' || n % 5, 'First ' || n * 31 % 997, 'Middle ' || n % 89, 'Last ' || n * 17 % 4001,
      case when n % 9 = 0 then 'Known ' || n % 71 end, 'e' || n || '@example.com', '+44 ' || n * 13, '+45 ' || n * 19,
      c.id, c.name_key, 'Department ' || n % 40, 'Division ' || n % 9, 'Location ' || n % 70, 'Job ' || n % 200,
      'Level ' || n % 6, null, null, 'Type ' || n % 3, 'Status ' || n % 4,
      timestamptz '2000-01-01Z' + n * 7919 % 9000 * interval '1 day', timestamptz '2001-01-01Z' + n * 31 % 9000 * interval '1 day',
      case when n % 4 = 0 then timestamptz '2030-01-01Z' + n * interval '1 hour' end,
      case when n % 7 = 0 then timestamptz '2035-01-01Z' + n * interval '1 hour' end
    from generate_series(1, ${count}) as n left join company c on n % 8 <> 0 and c.id = n * 7919 % 5003 + 1;
    update employee e set manager_id = m.id, manager_key = m.display_name_key
    from employee m where m.id = 1 + e.id % 500 and e.id % 10 <> 0`,
  absence: (count: number) => `
    insert into absence (
      status, employee_id, employee_key, type, reason, start, "end", period_prefered, period_days, period_hours
    )
    select
      'Status ' || n % 5, e.id, e.display_name_key, 'Type ' || n % 12, case when n % 3 <> 0 then 'Reason ' || n * 31 % 997 end,
      timestamptz '2015-01-01Z' + n * 7919 % 4000 * interval '1 day', timestamptz '2026-01-01Z' + n * 31 % 900 * interval '1 day',
      case when n % 4 <> 0 then 'Hours' end, n * 17 % 61 / 2.0, n * 13 % 9973 / 8.0
    from generate_series(1, ${count}) as n left join employee e on n % 11 <> 0 and e.id = n * 7919 % 5003 + 1`,
}

export type Table = keyof typeof LOADS

/** Fills the tables, with ties and rows without values; the indexes are created afterwards. */
export async function loadMany(sql: postgres.Sql, counts: Record<Table, number>): Promise<void> {
  await sql.begin(async (transaction) => {
    await transaction.unsafe("set local session_replication_role = replica; set local maintenance_work_mem = '256MB'")
    const indexes = await transaction`
      select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
      from pg_index where not indisunique and indrelid = any (${Object.keys(LOADS)}::regclass[])`
    for (const { name } of indexes) await transaction.unsafe(`drop index ${name}`)
    for (const table of ['company', 'employee', 'absence'] as const) await transaction.unsafe(LOADS[table](counts[table]))
    for (const { definition } of indexes) await transaction.unsafe(definition)
  })
  await sql.unsafe('vacuum analyze')
}
