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

create index absence_status_ascending on absence (status, id);
create index absence_status_descending on absence (status desc, id);
create index absence_employee_id_ascending on absence (employee_id, id);
create index absence_employee_id_descending on absence (employee_id desc, id);
create index absence_employee_ascending on absence (employee, id);
create index absence_employee_descending on absence (employee desc, id);
create index absence_type_ascending on absence (type, id);
create index absence_type_descending on absence (type desc, id);
create index absence_reason_ascending on absence (reason, id);
create index absence_reason_descending on absence (reason desc, id);
create index absence_start_ascending on absence (start, id);
create index absence_start_descending on absence (start desc, id);
create index absence_end_ascending on absence ("end", id);
create index absence_end_descending on absence ("end" desc, id);
create index absence_period_prefered_ascending on absence (period_prefered, id);
create index absence_period_prefered_descending on absence (period_prefered desc, id);
create index absence_period_days_ascending on absence (period_days, id);
create index absence_period_days_descending on absence (period_days desc, id);
create index absence_period_hours_ascending on absence (period_hours, id);
create index absence_period_hours_descending on absence (period_hours desc, id);
