-- Where to post what has changed, as webhooks. D61
create table hook (
  id text collate "C",
  url text not null,
  -- What deliveries are signed with, so it must be kept as it is: who reads it can sign as this service does.
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
  -- The place among the lines of changes: all up to it is delivered.
  run text collate "C" not null,
  position bigint not null,
  number bigint not null,
  -- What came of the last delivery, and of those that fail now: since when, how often, and when the next is tried.
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

-- Its only row counts the senders that there have been. One that was believed lost can write no more: its term is over.
create table hook_sender (
  term bigint not null default 0,
  is_only_row boolean default true,
  constraint hook_sender_pk primary key (is_only_row),
  constraint hook_sender_one_row check (is_only_row)
);

insert into hook_sender default values;
