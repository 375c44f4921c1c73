-- Which ids a query finds among some, by what is committed when this is called. A statement sees what was committed when it
-- began, and may then wait for a lock until there is more; a function that is volatile has a snapshot of its own for each
-- query. So a row is deleted after all who hold a lock on it have ended, and no constraint has to refuse it: PostgreSQL would
-- write what it refuses into its log, with people's names. The query follows from the declarations of the entities; it
-- runs with the rights of the caller.
create function found_now(query text, ids bigint[]) returns bigint[]
  language plpgsql volatile
  as $body$
    declare
      -- Prepared once in a session: to plan it each time would take longer than all else of a removal.
      prepared text := 'roster_' || md5(query);
      found_ids bigint[];
    begin
      begin
        execute format('execute %I (%L)', prepared, ids) into found_ids;
      exception when invalid_sql_statement_name then
        execute format('prepare %I (bigint[]) as %s', prepared, query);
        execute format('execute %I (%L)', prepared, ids) into found_ids;
      end;
      return found_ids;
    end
  $body$;
