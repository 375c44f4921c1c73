-- What the cursors of links are signed with: the same for all servers on this database, and after a restart. Another
-- secret makes all cursors that clients have invalid, and does nothing else.
create table cursor_secret (
  -- 244 random bits; pgcrypto, which could give bytes, is not everywhere.
  secret text not null default gen_random_uuid()::text || gen_random_uuid()::text,
  is_only_row boolean default true,
  constraint cursor_secret_pk primary key (is_only_row),
  constraint cursor_secret_one_row check (is_only_row)
);

insert into cursor_secret default values;
