-- The schema of an empty database. The single migrations 0001 to 0017 of earlier commits created the same, so this file counts as
-- applied in a database that has them all (src/postgres/baseline.ts).

-- 1. Entities

-- Text orders as people order names, so every text column has the Unicode root collation.
create table company (
  id bigint generated always as identity (maxvalue 9007199254740991),
  name text collate "und-x-icu",
  enabled boolean not null default false,
  -- What referring tables copy: '=' and the name, or '' for none, since a foreign key neither checks nor cascades a null.
  name_key text not null generated always as (coalesce('=' || name, '')) stored,
  constraint company_pk primary key (id),
  constraint company_name_copied unique (id, name_key)
);

-- Every list is ordered by (property, id). The id breaks ties in the direction of the sort, so one index has both orders of a
-- property, one of them read backwards.
create index company_name_sorted on company (name, id);
create index company_enabled_sorted on company (enabled, id);

-- Known as, else first name; then last name; null where nothing of it is there.
create function display_name(known_as text, first_name text, last_name text) returns text
  language sql immutable parallel safe
  as $$
    select case
      when given is null then family
      when family is null then given
      else given || ' ' || family
    end
    from (select coalesce(nullif(known_as, ''), nullif(first_name, '')), nullif(last_name, '')) as name (given, family)
  $$;

create table employee (
  id bigint generated always as identity (maxvalue 9007199254740991),
  employee_number text collate "und-x-icu",
  title text collate "und-x-icu",
  first_name text collate "und-x-icu",
  middle_name text collate "und-x-icu",
  last_name text collate "und-x-icu",
  known_as text collate "und-x-icu",
  display_name text collate "und-x-icu" generated always as (display_name(known_as, first_name, last_name)) stored,
  work_email text collate "und-x-icu",
  work_phone text collate "und-x-icu",
  work_mobile text collate "und-x-icu",
  company_id bigint,
  company text collate "und-x-icu" generated always as (substr(nullif(company_key, ''), 2)) stored,
  department text collate "und-x-icu",
  division text collate "und-x-icu",
  location text collate "und-x-icu",
  job_title text collate "und-x-icu",
  job_level text collate "und-x-icu",
  manager_id bigint,
  manager text collate "und-x-icu" generated always as (substr(nullif(manager_key, ''), 2)) stored,
  type text collate "und-x-icu",
  status text collate "und-x-icu",
  started timestamptz(0),
  continuous_start timestamptz(0),
  contract_end timestamptz(0),
  employment_end timestamptz(0),
  -- Copied, not joined: lists sort and filter by them. The foreign keys below keep them right.
  company_key text,
  manager_key text,
  -- What referring tables copy; see company.name_key.
  display_name_key text not null generated always as (coalesce('=' || display_name(known_as, first_name, last_name), '')) stored,
  constraint employee_pk primary key (id),
  constraint employee_display_name_copied unique (id, display_name_key),
  -- A copy that was not found is null: the reference names no row.
  constraint employee_company_id_found check ((company_id is null) = (company_key is null)),
  constraint employee_manager_id_found check ((manager_id is null) = (manager_key is null)),
  constraint employee_company_id_current foreign key (company_id, company_key)
    references company (id, name_key) on update cascade,
  constraint employee_manager_id_current foreign key (manager_id, manager_key)
    references employee (id, display_name_key) on update cascade
);

create index employee_employee_number_sorted on employee (employee_number, id);
create index employee_title_sorted on employee (title, id);
create index employee_first_name_sorted on employee (first_name, id);
create index employee_middle_name_sorted on employee (middle_name, id);
create index employee_last_name_sorted on employee (last_name, id);
create index employee_known_as_sorted on employee (known_as, id);
create index employee_display_name_sorted on employee (display_name, id);
create index employee_work_email_sorted on employee (work_email, id);
create index employee_work_phone_sorted on employee (work_phone, id);
create index employee_work_mobile_sorted on employee (work_mobile, id);
create index employee_company_id_sorted on employee (company_id, id);
create index employee_company_sorted on employee (company, id);
create index employee_department_sorted on employee (department, id);
create index employee_division_sorted on employee (division, id);
create index employee_location_sorted on employee (location, id);
create index employee_job_title_sorted on employee (job_title, id);
create index employee_job_level_sorted on employee (job_level, id);
create index employee_manager_id_sorted on employee (manager_id, id);
create index employee_manager_sorted on employee (manager, id);
create index employee_type_sorted on employee (type, id);
create index employee_status_sorted on employee (status, id);
create index employee_started_sorted on employee (started, id);
create index employee_continuous_start_sorted on employee (continuous_start, id);
create index employee_contract_end_sorted on employee (contract_end, id);
create index employee_employment_end_sorted on employee (employment_end, id);

create table absence (
  id bigint generated always as identity (maxvalue 9007199254740991),
  status text collate "und-x-icu",
  employee_id bigint,
  employee text collate "und-x-icu" generated always as (substr(nullif(employee_key, ''), 2)) stored,
  type text collate "und-x-icu",
  reason text collate "und-x-icu",
  start timestamptz(0),
  "end" timestamptz(0),
  period_prefered text collate "und-x-icu",
  period_days numeric(18, 8),
  period_hours numeric(18, 8),
  -- Copied, not joined: lists sort and filter by it. The foreign key below keeps it right.
  employee_key text,
  constraint absence_pk primary key (id),
  constraint absence_end_not_before_start check ("end" >= start),
  constraint absence_employee_id_found check ((employee_id is null) = (employee_key is null)),
  constraint absence_employee_id_current foreign key (employee_id, employee_key)
    references employee (id, display_name_key) on update cascade
);

create index absence_status_sorted on absence (status, id);
create index absence_employee_id_sorted on absence (employee_id, id);
create index absence_employee_sorted on absence (employee, id);
create index absence_type_sorted on absence (type, id);
create index absence_reason_sorted on absence (reason, id);
create index absence_start_sorted on absence (start, id);
create index absence_end_sorted on absence ("end", id);
create index absence_period_prefered_sorted on absence (period_prefered, id);
create index absence_period_days_sorted on absence (period_days, id);
create index absence_period_hours_sorted on absence (period_hours, id);

-- 2. Keys of clients, and the secret of cursors

-- A key's own text is stored nowhere: with the contents of this table nobody gets in.
create table api_key (
  -- Part of the key's text, so that a request finds its row without trying them all.
  id text collate "C",
  name text collate "und-x-icu" not null,
  -- SHA-256 without salt or stretching: a key has 256 random bits, which nobody can try out.
  hash bytea not null,
  -- `Companies:read,Absences:write`
  rights text not null,
  -- `750/1m,2500/15m`; null: those that the server's settings give to every key.
  limits text,
  created timestamptz not null default now(),
  -- Set by a rotation: until then the replaced key is still accepted.
  expires timestamptz,
  revoked timestamptz,
  last_used timestamptz,
  constraint api_key_pk primary key (id),
  constraint api_key_id_form check (id ~ '^[0-9A-Za-z]{10}$'),
  constraint api_key_name_length check (char_length(name) between 1 and 100),
  constraint api_key_hash_length check (octet_length(hash) = 32)
);

-- A name has one current key; those that it replaced, and revoked ones, keep the name for the record.
create unique index api_key_name_current on api_key (name) where revoked is null and expires is null;

-- Every server asks for the next expiry several times a second.
create index api_key_expires on api_key (expires) where revoked is null and expires is not null;

-- One number that every change of a key raises: servers poll it, and read the keys only when it differs. No trigger
-- raises it, since being used, which is written down for each key, changes nothing that a server would have to know.
-- Its row is also the lock under which keys are changed, one change after the other.
create table api_key_version (
  version bigint not null,
  is_only_row boolean default true,
  constraint api_key_version_pk primary key (is_only_row),
  constraint api_key_version_one_row check (is_only_row)
);

insert into api_key_version (version) values (0);

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

-- 3. Writes

-- Stored answers to writes with the header Idempotency-Key, so that a write is done once, however often it is sent. An answer is
-- inserted in the transaction of its write: both are committed, or neither. D43
create table idempotency_key (
  -- Half of a SHA-256 of the API key's id and the client's text: clients cannot meet each other's rows.
  id uuid,
  -- The same of method, path, and what was to be written.
  request uuid not null,
  -- The row as it was returned, as PostgreSQL writes its values, and the transaction; null: nothing was returned.
  answer text[],
  created timestamptz not null default now(),
  constraint idempotency_key_pk primary key (id)
);

-- By it the oldest answers are found, and deleted.
create index idempotency_key_created on idempotency_key (created);

-- Returns the ids that a query finds among `ids`, by what is committed when this is called. A statement sees what was committed when it
-- began, and may then wait for a lock until more is committed; a volatile function has a snapshot of its own for each query. So a
-- deletion looks for references after all that held a lock on the row have ended, and no constraint has to refuse it: PostgreSQL would
-- write the refused row into its log, with people's names. The query follows from the declarations of the entities, and runs with the
-- rights of the caller.
create function found_now(query text, ids bigint[]) returns bigint[]
  language plpgsql volatile
  as $body$
    declare
      -- Prepared once in a session: to plan it each time would take longer than all else of a removal.
      prepared text := 'roster_' || md5(query);
      found_ids bigint[];
    begin
      begin
        execute format('execute %I (%L)', prepared, ids) into found_ids;
      exception when invalid_sql_statement_name then
        execute format('prepare %I (bigint[]) as %s', prepared, query);
        execute format('execute %I (%L)', prepared, ids) into found_ids;
      end;
      return found_ids;
    end
  $body$;

-- 4. The change feed. D57

-- One line for each row that was created, changed or deleted, by a server, psql, a migration or a cascade. Triggers insert it in the
-- transaction of the write: both are committed, or neither.
create table entity_change (
  -- The order of lines: see change_position below. Lines of one position are ordered by their numbers.
  position bigint not null,
  number bigint generated always as identity,
  -- The table of the row.
  entity text collate "C" not null,
  id bigint not null,
  -- c, u or d: the row was created, updated or deleted.
  action "char" not null,
  at timestamptz not null default clock_timestamp(),
  -- The id of the API key that asked for the write; null: none did.
  key text collate "C",
  -- The columns whose values differ; none of a row that was created or deleted, unless values are kept.
  changed text[] collate "C" not null,
  -- Their values, as PostgreSQL prints them, in the order of `changed`; null: not kept. D58
  before text[] collate "C",
  after text[] collate "C",
  constraint entity_change_pk primary key (entity, position, number)
);

-- The history of one row.
create index entity_change_row on entity_change (entity, id, number);

-- Returns the position of a line; called while its row is locked. Two things hold of it. It is not less than the number of the line's own
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

-- Its only row has the run that lines of now belong to, and says up to where lines were deleted.
create table change_feed (
  -- Part of each token: another database counts transactions anew, and one that kept no lines for a while has a gap.
  run text collate "C" not null default left(md5(gen_random_uuid()::text), 12),
  -- The cluster and the database whose transactions are counted; empty: none yet; off: servers keep no lines. Triggers insert lines
  -- only while it names a database.
  origin text collate "C" not null default '',
  -- The last line that was deleted.
  deleted_position bigint not null default 0,
  deleted_number bigint not null default 0,
  is_only_row boolean default true,
  -- Whether lines have values.
  has_values boolean not null default false,
  constraint change_feed_pk primary key (is_only_row),
  constraint change_feed_one_row check (is_only_row)
);

insert into change_feed default values;

-- Begins a new run: deletes all lines, and tokens of earlier runs are refused. Operators call it, too, after they have restored an
-- older state of the same cluster.
create function begin_changes() returns void
  language sql
  as $body$
    update change_feed set run = left(md5(gen_random_uuid()::text), 12), deleted_position = 0, deleted_number = 0;
    delete from entity_change;
  $body$;

-- Begins a new run if lines are no longer those of this database, or are no longer kept. A database that was restored from a dump is in
-- another cluster, or is another one of the same.
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

-- 5. Webhooks

-- Receivers of events as webhooks. D61
create table hook (
  id text collate "C",
  url text not null,
  -- Deliveries are signed with it, so it cannot be stored as a hash: who reads it can sign as this service does.
  secret text not null,
  -- `Employees:update`, or `*` for all.
  events text[] collate "C" not null,
  created timestamptz not null default now(),
  -- Raised by each change that an operator makes: the sender begins anew from the row then.
  revision bigint not null default 0,
  -- active, paused by an operator, or parked after deliveries have failed for days; since when, and why.
  state text collate "C" not null default 'active',
  since timestamptz not null default now(),
  reason text,
  -- A place in the change feed: all lines up to it are delivered.
  run text collate "C" not null,
  position bigint not null,
  number bigint not null,
  -- The last delivery; and, while deliveries fail, since when, how often, and when the next one is tried.
  last_status text,
  last_attempt timestamptz,
  failing_since timestamptz,
  attempts integer not null default 0,
  next_attempt timestamptz,
  constraint hook_pk primary key (id),
  constraint hook_id_form check (id ~ '^[0-9a-z]{10}$'),
  constraint hook_url_length check (char_length(url) between 1 and 2000),
  constraint hook_state_known check (state in ('active', 'paused', 'parked'))
);

-- Its only row counts the senders so far. One that was believed lost can write no more, because its term is over.
create table hook_sender (
  term bigint not null default 0,
  is_only_row boolean default true,
  constraint hook_sender_pk primary key (is_only_row),
  constraint hook_sender_one_row check (is_only_row)
);

insert into hook_sender default values;

-- 6. Changed rows, for copies of tables in memory (docs/memory.md)

-- Ids of changed rows: before a server answers a list from its copy of the table, it asks which rows have changed since. Every
-- statement leaves a line, whoever sent it: a server, psql, a cascade, a migration.
-- Unlogged: after a crash copies are loaded anew, and nothing else reads it. A line lives for a minute or two.
create unlogged table row_change (
  transaction xid8 not null default pg_current_xact_id(),
  -- The table of the rows.
  relation oid not null,
  -- Null: any row of the table may have changed.
  ids bigint[]
);

create index row_change_newest on row_change (relation, transaction);

-- Its only row is gone after a crash, a failover or a restore, which may undo commits: a copy belongs to one run.
create unlogged table row_change_run (
  run text collate "C" not null default gen_random_uuid()::text,
  -- Lines of transactions before this one may have been deleted. A copy whose snapshot may lack one of them is out of date.
  kept_from xid8 not null default pg_snapshot_xmin(pg_current_snapshot()),
  is_only_row boolean default true,
  constraint row_change_run_pk primary key (is_only_row),
  constraint row_change_run_one_row check (is_only_row)
);

insert into row_change_run default values;

-- Whether the role may read all of these columns. Asked only if it may not read the table as such; a query in the question itself
-- would cost each one.
create function may_read(relation oid, columns text[]) returns boolean
  language sql stable
  as $body$
    select coalesce(bool_and(has_column_privilege(relation, name, 'select')), false) from unnest(columns) as name;
  $body$;

-- 7. Triggers that insert the lines of entity_change and row_change

-- Inserts the lines of changed rows; `changed_ids` null: any row of the table may have changed. A question to row_change walks over the
-- lines of open transactions, and a server takes in up to 50,000 rows, so a statement leaves at most 50 lines of 1,000 ids, and a
-- transaction 250; beyond that one for the table as a whole. A setting has what the transaction has left. It begins with the number of
-- the transaction, because a session may set it, too. Triggers call this with the rights and the search path of the owner.
create function note_rows(changed oid, changed_ids bigint[]) returns void
  language plpgsql
  as $body$
    declare
      own text := pg_current_xact_id()::text;
      noted text := current_setting('roster.noted', true);
      lines integer := coalesce((cardinality(changed_ids) + 999) / 1000, 1);
      lines_before integer := 0;
      whole_tables text := ',';
    begin
      if split_part(noted, ' ', 1) = own then
        lines_before := split_part(noted, ' ', 2);
        whole_tables := split_part(noted, ' ', 3);
      end if;
      if strpos(whole_tables, ',' || changed || ',') > 0 then
        return;
      end if;
      if changed_ids is null or lines > 50 or lines_before + lines > 250 then
        insert into row_change (relation, ids) values (changed, null);
        whole_tables := whole_tables || changed || ',';
      elsif lines = 1 then
        insert into row_change (relation, ids) values (changed, changed_ids);
      else
        insert into row_change (relation, ids)
        select changed, changed_ids[first : first + 999] from generate_series(1, cardinality(changed_ids), 1000) as first;
      end if;
      perform set_config('roster.noted', concat_ws(' ', own, lines_before + lines, whole_tables), true);
    end
  $body$;

-- Returns the part of a trigger function that inserts lines of entity_change; '' if servers keep none. A server passes its API key in
-- roster.key, a setting of the transaction. Names with capitals cannot collide with columns of entities.
create function lines_of(changed regclass) returns text
  language plpgsql stable
  as $function$
    declare
      feed change_feed;
      columns record;
      head text := 'insert into entity_change (position, entity, id, action, key, changed, before, after) select "Place", "Table", ';
      existing text;
      parts_new text := '''{}'', null, null';
      parts_gone text := '''{}'', null, null';
      parts_changed text := 'null, null';
    begin
      select * into feed from change_feed;
      if feed.origin in ('', 'off') then
        return '';
      end if;
      -- Without other columns than the id, nothing ever differs.
      select
        coalesce(string_agg(format('case when "Old".%1$I is distinct from "New".%1$I then %1$L end', attname), ', '), 'null') as names,
        coalesce(string_agg(format('("Old".%1$I is distinct from "New".%1$I, %2$s, %3$s)', attname, format(as_text, '"Old"', attname), format(as_text, '"New"', attname)), ', '),
          '(false, null, null)') as pairs,
        coalesce(string_agg(format('(%L, %s)', attname, format(as_text, '"Row"', attname)), ', '), '(null, null)') as own
      into columns
      from (
        -- A cast writes booleans in another way than servers read them.
        select attname, case atttypid when 'boolean'::regtype then 'left(%s.%I::text, 1)' else '%s.%I::text' end as as_text
        from pg_attribute where attrelid = changed and attnum > 0 and not attisdropped and attname <> 'id'
        order by attnum
      ) as property;
      if feed.has_values then
        existing := format('from (values %s) as "V" ("Name", "Value") where "Value" is not null', columns.own);
        parts_new := replace('array(select "Name" @), array(select null::text @), array(select "Value" @)', '@', existing);
        parts_gone := replace('array(select "Name" @), array(select "Value" @), array(select null::text @)', '@', existing);
        parts_changed := replace('array(select "Was" @), array(select "Is" @)', '@',
          format('from (values %s) as "V" ("Differs", "Was", "Is") where "Differs"', columns.pairs));
      end if;
      return format($text$
      -- Generated data has no lines, nor has what a server's own connection writes without a key. No other program has such a name by chance.
      if "Asker" is not null or current_setting('application_name') !~ '^roster (seed|sample|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}[/0-9a-z]*)$' then
        -- Taken after all rows were written, and so are locked.
        "Place" := change_position();
        if tg_op = 'INSERT' then
          %1$s "Row".id, 'c', "Asker", %2$s from new_rows as "Row";
        elsif tg_op = 'UPDATE' and cardinality("Ids") = 1 then
          %3$s from old_rows as "Old" cross join new_rows as "New" where "Old" is distinct from "New";
        elsif tg_op = 'UPDATE' then
          -- Paired by their numbers: a row occurs twice if a cascade has changed it again. The planner has no nested loop for a full join.
          %3$s from (select row_number() over () as "Pair", * from old_rows) as "Old"
          full join (select row_number() over () as "Pair", * from new_rows) as "New" using ("Pair")
          where "Old" is distinct from "New";
        elsif tg_op = 'DELETE' then
          %1$s "Row".id, 'd', "Asker", %4$s from old_rows as "Row";
        else
          %1$s "Row".id, 'd', "Asker", %4$s from %5$s as "Row";
        end if;
      end if;$text$, head, parts_new,
        format('%s "New".id, case when "Old".id = "New".id then ''u'' else ''c'' end, "Asker", array_remove(array[%s]::text[], null), %s', head, columns.names, parts_changed),
        parts_gone, changed);
    end
  $function$;

-- Creates the trigger function of a table, or replaces it if its columns or the settings of lines have changed; returns its name. The
-- function runs with the rights of its owner, and does not depend on the search path and formats of the session.
create function write_recorder(changed regclass) returns text
  language plpgsql
  as $function$
    declare
      relname text := (select relname from pg_class where oid = changed);
      recorder text := 'record_' || case when octet_length(relname) > 56 then md5(relname) else relname end;
      body text := $text$
    declare
      "Asker" text := nullif(current_setting('roster.key', true), '');
      "Table" text := tg_table_name;
      "Place" bigint;
      "Ids" bigint[];
    begin
      if tg_op = 'DELETE' then
        "Ids" := array(select id from old_rows limit 50001);
      elsif tg_op <> 'TRUNCATE' then
        "Ids" := array(select id from new_rows limit 50001);
      end if;
      if "Ids" = '{}' then
        return null;
      end if;
      perform note_rows(tg_relid, "Ids");$text$ || lines_of(changed) || $text$
      return null;
    end
  $text$;
    begin
      if body is distinct from (select prosrc from pg_proc where pronamespace = current_schema()::regnamespace and proname = recorder) then
        execute format(
          'create or replace function %I() returns trigger language plpgsql security definer '
          'set search_path = %I, pg_catalog, pg_temp set timezone = ''UTC'' set datestyle = ''ISO'' as %L',
          recorder, current_schema(), body
        );
      end if;
      return recorder;
    end
  $function$;

-- A row that is given another id is another row: what it was before is in no transition table of the statement's that has its new id.
create function note_other_id() returns trigger
  language plpgsql security definer
  as $body$
    begin
      perform note_rows(tg_relid, array[old.id]);
      insert into entity_change (position, entity, id, action, key, changed)
      select change_position(), tg_table_name, old.id, 'd', nullif(current_setting('roster.key', true), ''), '{}'
      from change_feed where origin not in ('', 'off');
      return null;
    end
  $body$;

-- Makes the triggers of a table anew, and drops those of its former name. All fire also where a session fires no ordinary triggers. Ids
-- are compared whatever the statement sets, because a trigger may set them, too.
create function record_changes_of(changed regclass) returns void
  language plpgsql
  as $body$
    declare
      name text := (select relname from pg_class where oid = changed);
      recorder text := write_recorder(changed);
      made record;
    begin
      for made in
        select tgname from pg_trigger join pg_proc on pg_proc.oid = tgfoid
        where tgrelid = changed and pronamespace = current_schema()::regnamespace and case
          when proname = 'note_other_id' then tgname <> (name || '_other_ids')::name
          else proname <> recorder and proname ^@ 'record_' and strpos(prosrc, '"Asker" text := ') > 0 end
      loop
        execute format('drop trigger %I on %s', made.tgname, changed);
      end loop;
      execute format('drop trigger if exists %I on %s', name || '_changes', changed);
      for made in
        select suffix, definition from (values
          ('_inserts', 'after insert on %1$s referencing new table as new_rows for each statement execute function %2$I()'),
          ('_updates', 'after update on %1$s referencing old table as old_rows new table as new_rows for each statement execute function %2$I()'),
          ('_deletes', 'after delete on %1$s referencing old table as old_rows for each statement execute function %2$I()'),
          ('_truncates', 'before truncate on %1$s for each statement execute function %2$I()'),
          ('_other_ids', 'after update on %1$s for each row when (old.id <> new.id) execute function note_other_id()')
        ) as made (suffix, definition)
      loop
        execute format('create or replace trigger %3$I ' || made.definition, changed, recorder, name || made.suffix);
        execute format('alter table %s enable always trigger %I', changed, name || made.suffix);
      end loop;
    end
  $body$;

-- Writes the trigger functions of all recorded tables, and the triggers of those that were renamed. Called when a server starts and after
-- migrations; call it after adding or dropping columns by psql. It runs with the rights of the owner, since the role of a server may
-- have no right to create functions.
create function write_recorders() returns void
  language plpgsql security definer
  as $body$
    declare
      recorded record;
    begin
      for recorded in
        select tgrelid::regclass as changed, bool_and(tgname <> (relname || '_other_ids')::name) as is_renamed
        from pg_trigger join pg_proc on pg_proc.oid = tgfoid join pg_class on pg_class.oid = tgrelid
        where proname = 'note_other_id' and pronamespace = current_schema()::regnamespace
        group by tgrelid
      loop
        if recorded.is_renamed then
          perform record_changes_of(recorded.changed);
        else
          perform write_recorder(recorded.changed);
        end if;
      end loop;
    end
  $body$;

-- Called when a server starts, with its settings of the change feed: writes the trigger functions anew that do otherwise.
create function check_changes(is_kept boolean, with_values boolean) returns void
  language plpgsql
  as $body$
    begin
      perform check_changes(is_kept);
      if current_setting('transaction_read_only') = 'off' then
        update change_feed set has_values = with_values where has_values <> with_values;
        perform write_recorders();
      end if;
    end
  $body$;

-- Returns a text that differs if a trigger of record_changes_of is made anew; null: not all of them are on the table, or fire in every
-- session.
create function recording_of(changed regclass) returns text
  language sql stable
  as $body$
    select case when count(*) = 5 then string_agg(pg_trigger.oid || ' ' || pg_trigger.xmin, ' ' order by pg_trigger.oid) end
    from pg_class
    cross join (values ('_inserts', 4), ('_updates', 16), ('_deletes', 8), ('_truncates', 34), ('_other_ids', 17)) as own (suffix, type)
    join pg_trigger on tgrelid = pg_class.oid and tgname = (relname || suffix)::name and tgtype = type
    join pg_proc on pg_proc.oid = tgfoid and pronamespace = current_schema()::regnamespace and proname = case
      when suffix = '_other_ids' then 'note_other_id'
      when octet_length(relname) > 56 then 'record_' || md5(relname)
      else 'record_' || relname end
    where pg_class.oid = changed and tgenabled = 'A' and cardinality(tgattr::int2[]) = 0;
  $body$;

create function is_recorded(changed regclass) returns boolean
  language sql stable
  as $body$
    select recording_of(changed) is not null;
  $body$;

-- Earlier names of record_changes_of, by which own migrations of projects may call it.
create function notify_changes_of(changed regclass, with_rows boolean default true) returns void
  language sql
  as $body$
    select record_changes_of(changed);
  $body$;

create function publish_rows(relation regclass) returns boolean
  language sql
  as $body$
    select false;
  $body$;

-- These run with the search path of the owner, whatever that of the session is.
do $baseline$
  declare
    own regprocedure;
  begin
    foreach own in array array['write_recorders()', 'note_other_id()', 'recording_of(regclass)', 'is_recorded(regclass)']::regprocedure[] loop
      execute format('alter function %s set search_path = %I, pg_catalog, pg_temp', own, current_schema());
    end loop;
  end
$baseline$;

select record_changes_of('company'), record_changes_of('employee'), record_changes_of('absence');
