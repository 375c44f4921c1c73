-- What a new embedded database shows first; DEMO_DATA=0 leaves it out. Not a migration.
insert into company (name, enabled) values
  ('Analytical Engines', true),
  ('Harbour & Sons', true),
  ('Lindqvist Foods', true),
  ('Northwind Textiles', false),
  ('Orbital Freight', true),
  ('Zenith Water', false);

insert into employee (
  employee_number, title, first_name, last_name, known_as, work_email, company_id, company_key,
  department, location, job_title, job_level, type, status, started
)
select
  'E' || lpad(n::text, 4, '0'), title, first_name, last_name, known_as,
  lower(first_name || '.' || last_name || '@example.com'), c.id, c.name_key,
  department, location, job_title, job_level, type, 'Current', started
from (values
  (1, 'Ms', 'Augusta', 'Byron', 'Ada', 'Analytical Engines', 'Engineering', 'London', 'Engineer', 'Senior', 'FullTime', timestamptz '2019-03-04 09:00Z'),
  (2, 'Mr', 'Charles', 'Babbage', null, 'Analytical Engines', 'Engineering', 'London', 'Director', 'Executive', 'FullTime', '2015-01-05 09:00Z'),
  (3, 'Ms', 'Mary', 'Somerville', null, 'Analytical Engines', 'Research', 'Edinburgh', 'Researcher', 'Senior', 'PartTime', '2020-09-01 09:00Z'),
  (4, 'Mr', 'José', 'Álvarez', 'Pepe', 'Harbour & Sons', 'Operations', 'Lisbon', 'Planner', 'Junior', 'FullTime', '2022-02-14 08:00Z'),
  (5, 'Ms', 'Ingrid', 'Öberg', null, 'Lindqvist Foods', 'Sales', 'Stockholm', 'Account Manager', 'Senior', 'FullTime', '2018-06-18 08:00Z'),
  (6, 'Mr', 'Erik', 'Lindqvist', null, 'Lindqvist Foods', 'Management', 'Stockholm', 'Director', 'Executive', 'FullTime', '2010-10-01 08:00Z'),
  (7, 'Dr', 'Grace', 'Murray', null, 'Orbital Freight', 'Engineering', 'Rotterdam', 'Engineer', 'Principal', 'FullTime', '2016-12-09 09:00Z'),
  (8, 'Mr', 'Alan', 'Mathison', null, 'Orbital Freight', 'Engineering', 'Rotterdam', 'Engineer', 'Junior', 'FullTime', '2023-06-23 09:00Z'),
  (9, 'Ms', 'Katherine', 'Coleman', null, 'Orbital Freight', 'Engineering', 'Rotterdam', 'Engineer', 'Senior', 'FullTime', '2017-08-26 09:00Z'),
  (10, 'Ms', 'Wanjiru', 'Maathai', null, 'Zenith Water', 'Field', 'Nairobi', 'Engineer', 'Senior', 'FullTime', '2021-04-01 06:00Z'),
  (11, 'Mr', 'Ravi', 'Iyer', null, 'Zenith Water', 'Finance', 'Chennai', 'Accountant', 'Senior', 'PartTime', '2021-11-15 04:30Z'),
  (12, 'Ms', 'Hedwig', 'Kiesler', 'Hedy', 'Orbital Freight', 'Engineering', 'Vienna', 'Engineer', 'Principal', 'FullTime', '2014-11-09 08:00Z')
) as sample (n, title, first_name, last_name, known_as, company, department, location, job_title, job_level, type, started)
join company c on c.name = sample.company
order by n;

-- In each company the directors, where there are any, lead the others; one employee reports to one of these.
update employee e
set manager_id = m.id, manager_key = m.display_name_key
from employee m
where m.company_id = e.company_id and e.id <> m.id
  and m.job_title = case e.last_name when 'Somerville' then 'Engineer' else 'Director' end;

insert into absence (
  status, employee_id, employee_key, type, reason, start, "end", period_prefered, period_days, period_hours
)
select
  (array['Approved', 'Approved', 'Requested', 'Declined', 'Cancelled'])[1 + n % 5],
  e.id, e.display_name_key,
  (array['Holiday', 'Holiday', 'Sickness', 'Training'])[1 + n % 4],
  (array['Annual Leave', 'Annual Leave', 'Flu', 'Conference'])[1 + n % 4],
  day, day + days * interval '1 day', case when n % 3 = 0 then 'Days' else 'Hours' end, days, days * 7.5
from generate_series(0, 35) as n
cross join lateral (
  select timestamptz '2026-01-05 09:00Z' + n * interval '9 days' as day, 1 + n * 7 % 5 as days
) as planned
join employee e on e.id = 1 + n * 5 % 12
order by n;

analyze;
