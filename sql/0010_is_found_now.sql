-- Whether a query finds a row by what is committed when it is called. A statement sees what was committed when it began, and
-- may then wait for a lock until there is more; a function that is volatile has a snapshot of its own for each query. So a
-- row is deleted only after all who hold a lock on it have ended, and no constraint has to refuse it: PostgreSQL would
-- write what it refuses into its log, with people's names. The query comes from the declarations of the entities; it runs
-- with the rights of its caller.
create function is_found_now(query text, id bigint) returns boolean
  language plpgsql volatile
  as $body$
    declare
      is_found boolean;
    begin
      execute query into is_found using id;
      return is_found;
    end
  $body$;
