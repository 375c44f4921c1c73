-- Rights by row and property, and keys that end by themselves.

alter table api_key
  -- Rights as addresses of lists, one a line: `read Absences?Status=Approved&fields=Id,Start`. Null: `rights` counts. A column of their
  -- own, since servers of earlier versions split `rights` at commas and colons, and could read a wider right in a value.
  add column addresses text,
  -- Set when the key is made or changed: then it is no longer accepted. `expires` says that the key was replaced, which frees its name.
  add column ends timestamptz,
  add constraint api_key_one_form check (addresses is null or rights = '');

-- Every server asks for the next end several times a second.
create index api_key_ends on api_key (ends) where revoked is null and ends is not null;
