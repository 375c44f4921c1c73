-- What was answered to writes with the header Idempotency-Key, so that each is done once however often it is sent. A row
-- is written in the transaction of what the write did: both are there, or neither.
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

-- For the deletion of old rows, which are the first of it.
create index idempotency_key_created on idempotency_key (created);
