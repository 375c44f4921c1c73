-- What a hook shows of the events that it delivers.
alter table hook
  -- Rights to read, one a line, as those of a key: the hook shows what such a key would see. Null: it shows all.
  add column rights text,
  -- The events of a hook with rights. Its `events` are empty, so that a server of an earlier version, which knows no rights, delivers
  -- nothing of it instead of all.
  add column events_by_rights text[] collate "C",
  add constraint hook_rights_complete check ((rights is null) = (events_by_rights is null) and (rights is null or events = '{}'));
