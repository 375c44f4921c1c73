/** Statements that make a table one that is read for longer than a statement may take. */
export const slowly = (table: string) =>
  `alter table ${table} rename to ${table}_quick;
   create view ${table} as select * from ${table}_quick where (select pg_sleep(10)) is not null`
/** Statements that undo those of `slowly`. */
export const quickly = (table: string) => `drop view ${table}; alter table ${table}_quick rename to ${table}`

/** A statement that makes PostgreSQL end the connection of each write to the table, as an operator can. */
export const endingWrites = (table: string) => `
  create or replace function end_connection() returns trigger language plpgsql as $$
    begin perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(10); return null; end $$;
  create trigger ended before insert or update or delete on ${table} execute function end_connection()`

/** Writes are done again. */
export const endingNoWrites = (table: string) => `drop trigger ended on ${table}`
