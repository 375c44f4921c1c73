/** Returns statements after which a read of the table exceeds the time limit of statements. */
export const slowly = (table: string) =>
  `alter table ${table} rename to ${table}_quick;
   create view ${table} as select * from ${table}_quick where (select pg_sleep(10)) is not null`
/** Returns statements after which a summary of the table has too many groups. `quickly` undoes them. */
export const inGreatNumber = (table: string) =>
  `alter table ${table} rename to ${table}_quick;
   do $$ declare columns text; begin
     select string_agg(case attname when 'id' then 'n' else 'null' end || format('::%s as %I', atttypid::regtype, attname), ',')
       into columns from pg_attribute where attrelid = '${table}_quick'::regclass and attnum > 0 and not attisdropped;
     execute 'create view ${table} as select ' || columns || ' from generate_series(1, 250001) as n';
   end $$`
/** Returns statements that undo the statements of `slowly` or `inGreatNumber`. */
export const quickly = (table: string) => `drop view ${table}; alter table ${table}_quick rename to ${table}`

/** Returns a statement after which PostgreSQL ends the connection of each write to the table, as an operator can. */
export const endingWrites = (table: string) => `
  create or replace function end_connection() returns trigger language plpgsql as $$
    begin perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(10); return null; end $$;
  create trigger ended before insert or update or delete on ${table} execute function end_connection()`

/** Returns a statement that undoes `endingWrites`. */
export const endingNoWrites = (table: string) => `drop trigger ended on ${table}`
