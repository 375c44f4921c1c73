import type { Random } from '../../support/random.ts'

/** What others send to the database behind the servers' backs, as psql would: one simple query, of one or more statements. */
export const SCRIPTS: ((random: Random) => string)[] = [
  (random) => `update absence set status = '${random.pick(['Approved', 'Requested'])}' where id % 40 = ${random.below(40)}`,
  // Too many rows for one notification each.
  (random) =>
    `update absence set period_days = (id + ${random.below(7)}) % 7; insert into absence (status) select 'Approved' from generate_series(1, 600); delete from absence where id > 1000`,
  (random) =>
    `begin; set local session_replication_role = replica; update absence set status = 'Declined' where id % 30 = ${random.below(30)}; insert into absence (type, start) values ('psql', '3.12.2024 10:00'); commit`,
  (random) => {
    const id = 1 + random.below(20)
    return `begin; update company set enabled = true where id = ${id}; update company set enabled = false where id = ${id}; update company set enabled = true where id = ${id}; commit`
  },
  (random) => `update company set name = 'psql ${random.below(99)}' where id = ${1 + random.below(20)}`,
  (random) => `update employee set known_as = 'psql ${random.below(99)}' where id % 20 = ${random.below(20)}`,
  (random) => `delete from absence where id in (select id from absence order by id desc limit ${random.below(5)})`,
  (random) =>
    `begin; update absence set type = 'undone' where id % 3 = 0; rollback; update absence set type = 'x' where id = ${1 + random.below(400)}`,
  () =>
    "truncate absence restart identity; insert into absence (status, period_days, start) select 'Approved', n % 7, now() from generate_series(1, 300) as n",
  (random) =>
    `update absence set reason = repeat('r', 9000) where id = ${1 + random.below(400)}; update absence set start = 'infinity', "end" = null where id = ${1 + random.below(400)}; update absence set start = null where id % 7 = 1`,
]
