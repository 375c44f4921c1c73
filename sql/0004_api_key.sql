-- Keys of clients. A key's own text is nowhere: what is here lets nobody in.
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
