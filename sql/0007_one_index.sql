-- The id breaks ties in the direction of the sort, so one index on (property, id) has both orders of a property, one of
-- them read backwards, and a row is written into half as many.
--
-- To drop an index takes its table for itself until the commit, but only to change the catalog and to unlink a file: no
-- row is read. It waits for what is under way on the table, and what comes waits behind it: for some milliseconds beside
-- servers of ours, but a backup or a session that leaves its transaction open would hold up all. So it gives up soon; then
-- nothing has changed, and the server is started again when that has ended. A server of the version before goes on with the indexes that are left: where its order was another,
-- it sorts what ties.
--
-- First only writes are kept out, of referred tables before those that refer: a write has its own table when it comes to
-- another one, to look at it or to cascade to it. Taken one by one as they are dropped, they were a deadlock with it.
set local lock_timeout = '5s';

lock table company, employee, absence in share row exclusive mode;

drop index if exists company_name_descending;
drop index if exists company_enabled_descending;
drop index if exists employee_employee_number_descending;
drop index if exists employee_title_descending;
drop index if exists employee_first_name_descending;
drop index if exists employee_middle_name_descending;
drop index if exists employee_last_name_descending;
drop index if exists employee_known_as_descending;
drop index if exists employee_display_name_descending;
drop index if exists employee_work_email_descending;
drop index if exists employee_work_phone_descending;
drop index if exists employee_work_mobile_descending;
drop index if exists employee_company_id_descending;
drop index if exists employee_company_descending;
drop index if exists employee_department_descending;
drop index if exists employee_division_descending;
drop index if exists employee_location_descending;
drop index if exists employee_job_title_descending;
drop index if exists employee_job_level_descending;
drop index if exists employee_manager_id_descending;
drop index if exists employee_manager_descending;
drop index if exists employee_type_descending;
drop index if exists employee_status_descending;
drop index if exists employee_started_descending;
drop index if exists employee_continuous_start_descending;
drop index if exists employee_contract_end_descending;
drop index if exists employee_employment_end_descending;
drop index if exists absence_status_descending;
drop index if exists absence_employee_id_descending;
drop index if exists absence_employee_descending;
drop index if exists absence_type_descending;
drop index if exists absence_reason_descending;
drop index if exists absence_start_descending;
drop index if exists absence_end_descending;
drop index if exists absence_period_prefered_descending;
drop index if exists absence_period_days_descending;
drop index if exists absence_period_hours_descending;

-- Their names need no direction any more. For a name alone nothing is locked but the index.
alter index company_name_ascending rename to company_name_sorted;
alter index company_enabled_ascending rename to company_enabled_sorted;
alter index employee_employee_number_ascending rename to employee_employee_number_sorted;
alter index employee_title_ascending rename to employee_title_sorted;
alter index employee_first_name_ascending rename to employee_first_name_sorted;
alter index employee_middle_name_ascending rename to employee_middle_name_sorted;
alter index employee_last_name_ascending rename to employee_last_name_sorted;
alter index employee_known_as_ascending rename to employee_known_as_sorted;
alter index employee_display_name_ascending rename to employee_display_name_sorted;
alter index employee_work_email_ascending rename to employee_work_email_sorted;
alter index employee_work_phone_ascending rename to employee_work_phone_sorted;
alter index employee_work_mobile_ascending rename to employee_work_mobile_sorted;
alter index employee_company_id_ascending rename to employee_company_id_sorted;
alter index employee_company_ascending rename to employee_company_sorted;
alter index employee_department_ascending rename to employee_department_sorted;
alter index employee_division_ascending rename to employee_division_sorted;
alter index employee_location_ascending rename to employee_location_sorted;
alter index employee_job_title_ascending rename to employee_job_title_sorted;
alter index employee_job_level_ascending rename to employee_job_level_sorted;
alter index employee_manager_id_ascending rename to employee_manager_id_sorted;
alter index employee_manager_ascending rename to employee_manager_sorted;
alter index employee_type_ascending rename to employee_type_sorted;
alter index employee_status_ascending rename to employee_status_sorted;
alter index employee_started_ascending rename to employee_started_sorted;
alter index employee_continuous_start_ascending rename to employee_continuous_start_sorted;
alter index employee_contract_end_ascending rename to employee_contract_end_sorted;
alter index employee_employment_end_ascending rename to employee_employment_end_sorted;
alter index absence_status_ascending rename to absence_status_sorted;
alter index absence_employee_id_ascending rename to absence_employee_id_sorted;
alter index absence_employee_ascending rename to absence_employee_sorted;
alter index absence_type_ascending rename to absence_type_sorted;
alter index absence_reason_ascending rename to absence_reason_sorted;
alter index absence_start_ascending rename to absence_start_sorted;
alter index absence_end_ascending rename to absence_end_sorted;
alter index absence_period_prefered_ascending rename to absence_period_prefered_sorted;
alter index absence_period_days_ascending rename to absence_period_days_sorted;
alter index absence_period_hours_ascending rename to absence_period_hours_sorted;

-- As for other migrations.
set local lock_timeout = '60s';
