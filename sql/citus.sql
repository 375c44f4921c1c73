-- The layout of a database that Citus spreads over servers, as it was tried; no migration. Some operations fail there: see
-- docs/scaling.md. To be run once on the coordinator, by the owner of the tables, after a server of Roster has started
-- there with CHANGES_DAYS=0 and applied the migrations, and while none runs:
--
--   psql "$DATABASE_URL" --single-transaction --set ON_ERROR_STOP=1 --file sql/citus.sql
--
-- Companies and employees are whole on each server, since every foreign key that cascades refers to them; absences, of which
-- there are most, are spread by their id. All servers of Roster need CHANGES_DAYS=0 from then on; without triggers no table is kept in memory.

-- References to tables that are whole everywhere ask for one connection to each server.
set local citus.multi_shard_modify_mode = 'sequential';

-- Citus spreads no table that has triggers.
do $layout$
  declare
    made record;
  begin
    for made in
      select tgname, tgrelid::regclass as changed from pg_trigger
      where not tgisinternal and tgrelid in ('company'::regclass, 'employee'::regclass, 'absence'::regclass)
    loop
      execute format('drop trigger %I on %s', made.tgname, made.changed);
    end loop;
  end
$layout$;

-- A table with an identity is spread only while it has no foreign key; so these go, and come back as they were.
alter table absence drop constraint absence_employee_id_current;
alter table employee drop constraint employee_company_id_current, drop constraint employee_manager_id_current;

select create_reference_table('company');
select create_reference_table('employee');
select create_distributed_table('absence', 'id');

alter table employee
  add constraint employee_company_id_current foreign key (company_id, company_key)
    references company (id, name_key) on update cascade;
alter table employee
  add constraint employee_manager_id_current foreign key (manager_id, manager_key)
    references employee (id, display_name_key) on update cascade;
alter table absence
  add constraint absence_employee_id_current foreign key (employee_id, employee_key)
    references employee (id, display_name_key) on update cascade;
