/** Statements that make a table one that is read for longer than a statement may take. */
export const slowly = (table: string) =>
  `alter table ${table} rename to ${table}_quick;
   create view ${table} as select * from ${table}_quick where (select pg_sleep(10)) is not null`
/** Statements that undo those of `slowly`. */
export const quickly = (table: string) => `drop view ${table}; alter table ${table}_quick rename to ${table}`
