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

-- Every list is ordered by (property, id), id always ascending, so each direction is an index of its own.
create index company_name_ascending on company (name, id);
create index company_name_descending on company (name desc, id);
create index company_enabled_ascending on company (enabled, id);
create index company_enabled_descending on company (enabled desc, id);
