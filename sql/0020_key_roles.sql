-- Keys whose rights are those of a block of the roles file.

alter table api_key
  -- Name of the block, `key <name>`. Null: `rights` or `addresses` count. Both are empty beside it, so that to a server of an earlier
  -- version such a key has no right.
  add column role text,
  add constraint api_key_role_alone check (role is null or (rights = '' and addresses is null));
