-- Who keeps lists in memory must hear of every write of others. NOTIFY makes a commit wait for a lock that the whole
-- cluster has in common, so a write notifies only where somebody else listens; and for that it looks here.
-- Unlogged: after a crash nobody listens.
create unlogged table change_listener (
  -- One start of a server; its connections have the same in the setting `roster.machine`.
  machine text not null,
  -- Whose row it is: a row without that backend is somebody's who has gone.
  pid integer not null,
  backend_start timestamptz not null,
  constraint change_listener_pk primary key (machine),
  -- What a setting says that was reset, and so names nobody.
  constraint change_listener_machine_named check (machine <> '')
);

-- Whoever may write rows looks who listens.
grant select on change_listener to public;

-- Tells of rows that were written, and by which machine. Machines tell their own processes faster than the database.
-- A listener that is not seen yet waits for the writers of before, see execute/changeListener.ts. That holds where each
-- look has a snapshot of its own, which is read committed; others notify anyway. The schema stands in the text because
-- writers have search paths of their own; to set one in each call would cost as much as the look itself.
do $migration$
  begin
    execute format(
      $function$
        create function tell_change() returns trigger
          language plpgsql
          as $body$
            begin
              if current_setting('transaction_isolation') <> 'read committed' or exists (
                select from %I.change_listener where machine is distinct from current_setting('roster.machine', true)
              ) then
                perform pg_notify(
                  'roster_change', tg_table_name || ' ' || coalesce(current_setting('roster.machine', true), '')
                );
              end if;
              return null;
            end
          $body$
      $function$,
      current_schema()
    );
  end
$migration$;

create trigger company_changes after insert or update or delete or truncate on company
  execute function tell_change();
create trigger employee_changes after insert or update or delete or truncate on employee
  execute function tell_change();
create trigger absence_changes after insert or update or delete or truncate on absence
  execute function tell_change();

-- Also where a session fires no ordinary triggers, as one that loads a dump. What logical replication applies fires no
-- trigger for statements at all, so a database that gets these tables that way must be served with VIEWS=off. A hot
-- standby neither writes nor lets anybody listen: lists come from the database there.
alter table company enable always trigger company_changes;
alter table employee enable always trigger employee_changes;
alter table absence enable always trigger absence_changes;
