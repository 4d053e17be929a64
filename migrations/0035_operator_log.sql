-- Who did what: every act of a person, stored in the transaction that does it.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

create table "{schema}".operator_log (
  -- 0: the act is about no single account.
  _user_id bigint not null,
  act_id bigint generated always as identity,
  at timestamptz not null default clock_timestamp(),
  act text not null,
  -- No secret, and no key of a row: of what was forgotten the hashes that the table forgotten has.
  arguments jsonb not null,
  -- Null: an older program asked, which does not say who.
  database_user text,
  -- What the program said of itself; null: no program of ours did it.
  os_user text,
  program text,
  primary key (_user_id, act_id)
);
comment on table "{schema}".operator_log is 'One row for each act of a person: who did what, and when. It is kept for ever. Nobody but its owner can write it.';
comment on column "{schema}".operator_log._user_id is 'Owner of the API key; 0: the act is about no single account.';
comment on column "{schema}".operator_log.act_id is 'Number of the act.';
comment on column "{schema}".operator_log.at is 'When, by the database''s clock.';
comment on column "{schema}".operator_log.act is 'The command that did it: accounts retire, accounts retire --undo, accounts move, columns set-type, distribute, forget, forget --undo, submissions cancel, submissions release, sync --accept-deletions.';
comment on column "{schema}".operator_log.arguments is 'What it was told, and what came of it. Of rows that were forgotten: hashes of their keys, as forgotten has them.';
comment on column "{schema}".operator_log.database_user is 'Login in Postgres of who asked; null: an older program asked.';
comment on column "{schema}".operator_log.os_user is 'user@host of the process that asked, as it says; null: cancel_submission() was called by SQL.';
comment on column "{schema}".operator_log.program is 'Version of the program that asked, as it says.';

-- Whom default privileges have given more than reading does not get it here.
do $$
declare
  name text;
  reads boolean;
begin
  for name, reads in
    select case a.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end, bool_or(a.privilege_type = 'SELECT')
    from pg_class c, aclexplode(c.relacl) a
    where c.oid = '"{schema}".operator_log'::regclass and a.grantee <> c.relowner
    group by a.grantee
  loop
    execute format('revoke all on "{schema}".operator_log from %s', name);
    if reads then
      execute format('grant select on "{schema}".operator_log to %s', name);
    end if;
  end loop;
end $$;

-- Reason: the same function, which stores who called it, too; what is cancelled already is no act.
do $do$
declare
  definition text := pg_get_functiondef('"{schema}".cancel_submission(bigint)'::regprocedure);
  change text[];
begin
  foreach change slice 1 in array array[
    ['  found_account bigint;', '  caller constant text := session_user;
  -- Set by the command.
  os_user constant text := nullif(current_setting(''research_mirror.os_user'', true), '''');
  program constant text := nullif(current_setting(''research_mirror.program'', true), '''');
  found_account bigint;'],
    ['  update "{schema}".submissions s set', '  if found_state = ''cancelled'' then
    return true;
  end if;
  update "{schema}".submissions s set'],
    ['  return true;
end ', '  insert into "{schema}".operator_log (_user_id, act, arguments, database_user, os_user, program)
  values (found_account, ''submissions cancel'', jsonb_build_object(''submission_id'', cancel_submission.submission_id),
    caller, os_user, program);
  return true;
end ']]
  loop
    if strpos(definition, change[1]) = 0 then
      raise exception 'cancel_submission is not the function that earlier migrations made';
    end if;
    definition := replace(definition, change[1], change[2]);
  end loop;
  execute definition;
end $do$;
