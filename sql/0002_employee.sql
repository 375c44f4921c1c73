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

create index employee_employee_number_ascending on employee (employee_number, id);
create index employee_employee_number_descending on employee (employee_number desc, id);
create index employee_title_ascending on employee (title, id);
create index employee_title_descending on employee (title desc, id);
create index employee_first_name_ascending on employee (first_name, id);
create index employee_first_name_descending on employee (first_name desc, id);
create index employee_middle_name_ascending on employee (middle_name, id);
create index employee_middle_name_descending on employee (middle_name desc, id);
create index employee_last_name_ascending on employee (last_name, id);
create index employee_last_name_descending on employee (last_name desc, id);
create index employee_known_as_ascending on employee (known_as, id);
create index employee_known_as_descending on employee (known_as desc, id);
create index employee_display_name_ascending on employee (display_name, id);
create index employee_display_name_descending on employee (display_name desc, id);
create index employee_work_email_ascending on employee (work_email, id);
create index employee_work_email_descending on employee (work_email desc, id);
create index employee_work_phone_ascending on employee (work_phone, id);
create index employee_work_phone_descending on employee (work_phone desc, id);
create index employee_work_mobile_ascending on employee (work_mobile, id);
create index employee_work_mobile_descending on employee (work_mobile desc, id);
create index employee_company_id_ascending on employee (company_id, id);
create index employee_company_id_descending on employee (company_id desc, id);
create index employee_company_ascending on employee (company, id);
create index employee_company_descending on employee (company desc, id);
create index employee_department_ascending on employee (department, id);
create index employee_department_descending on employee (department desc, id);
create index employee_division_ascending on employee (division, id);
create index employee_division_descending on employee (division desc, id);
create index employee_location_ascending on employee (location, id);
create index employee_location_descending on employee (location desc, id);
create index employee_job_title_ascending on employee (job_title, id);
create index employee_job_title_descending on employee (job_title desc, id);
create index employee_job_level_ascending on employee (job_level, id);
create index employee_job_level_descending on employee (job_level desc, id);
create index employee_manager_id_ascending on employee (manager_id, id);
create index employee_manager_id_descending on employee (manager_id desc, id);
create index employee_manager_ascending on employee (manager, id);
create index employee_manager_descending on employee (manager desc, id);
create index employee_type_ascending on employee (type, id);
create index employee_type_descending on employee (type desc, id);
create index employee_status_ascending on employee (status, id);
create index employee_status_descending on employee (status desc, id);
create index employee_started_ascending on employee (started, id);
create index employee_started_descending on employee (started desc, id);
create index employee_continuous_start_ascending on employee (continuous_start, id);
create index employee_continuous_start_descending on employee (continuous_start desc, id);
create index employee_contract_end_ascending on employee (contract_end, id);
create index employee_contract_end_descending on employee (contract_end desc, id);
create index employee_employment_end_ascending on employee (employment_end, id);
create index employee_employment_end_descending on employee (employment_end desc, id);
