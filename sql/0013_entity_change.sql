-- What has changed: a line for each row that a write of the service has created, changed or deleted, left by the statement of
-- that write, so that both are committed or neither. D57
create table entity_change (
  -- Where the line stands among all: see change_position below. Lines of one position stand by their numbers.
  position bigint not null,
  number bigint generated always as identity,
  -- The table of the row.
  entity text collate "C" not null,
  id bigint not null,
  -- c, u or d: it was created, updated or deleted.
  action "char" not null,
  at timestamptz not null default clock_timestamp(),
  -- The id of the API key that asked for the write.
  key text collate "C" not null,
  -- The properties whose values differ, by their names; none of a row that was created or deleted, unless values are kept.
  changed text[] collate "C" not null,
  -- Their values, as PostgreSQL prints them, in the order of `changed`; null: not kept. D58
  before text[] collate "C",
  after text[] collate "C",
  constraint entity_change_pk primary key (entity, position, number)
);

-- The history of one row.
create index entity_change_row on entity_change (entity, id, number);

-- A position is taken while the row is locked. Two things hold of it. It is not less than the number of the line's own
-- transaction: once no transaction up to a position runs, all lines up to there can be seen. And it is not less than the number of
-- any transaction that had ended by then, so lines of one row are in the order of their writes: a transaction may have got its
-- number before another one that has changed the row first. The snapshot of the statement is too old for that; each call of a
-- volatile function has one of its own.
create function change_position() returns bigint
  language plpgsql volatile
  as $body$
    begin
      return greatest(
        pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1
      );
    end
  $body$;

-- Its only row says which run of lines those of now belong to, and how far they were deleted.
create table change_feed (
  -- Part of each token: another database counts transactions anew, and one without a trail for a while has a gap.
  run text collate "C" not null default left(md5(gen_random_uuid()::text), 12),
  -- The cluster and the database whose transactions are counted; empty: none yet.
  origin text collate "C" not null default '',
  -- The last line that was deleted.
  deleted_position bigint not null default 0,
  deleted_number bigint not null default 0,
  is_only_row boolean default true,
  constraint change_feed_pk primary key (is_only_row),
  constraint change_feed_one_row check (is_only_row)
);

insert into change_feed default values;

-- Begins a new run: tokens from before are refused from now on, and lines from before are gone. For operators, too, who have
-- restored an older state of the same cluster.
create function begin_changes() returns void
  language sql
  as $body$
    update change_feed set run = left(md5(gen_random_uuid()::text), 12), deleted_position = 0, deleted_number = 0;
    delete from entity_change;
  $body$;

-- At the start of a server, which leaves a trail or not. A database that was restored from a dump is in another cluster, or is
-- another one of the same.
create function check_changes(is_kept boolean) returns void
  language plpgsql
  as $body$
    declare
      here text := (select system_identifier::text from pg_control_system())
        || ' ' || (select oid::text from pg_database where datname = current_database());
      known text;
    begin
      -- A hot standby, or a database that an operator has made read-only, is as the one that writes to it has left it.
      if current_setting('transaction_read_only') = 'on' then
        return;
      end if;
      select origin into known from change_feed for update;
      if is_kept and known = '' then
        update change_feed set origin = here;
      elsif is_kept and known <> here then
        perform begin_changes();
        update change_feed set origin = here;
      elsif not is_kept and known <> 'off' then
        perform begin_changes();
        update change_feed set origin = 'off';
      end if;
    end
  $body$;
