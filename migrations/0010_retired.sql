-- Nothing is submitted for an account that an operator took out of the mirror.
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction, run by src/db/migrate.ts.
-- oldest program: 0.2.0

-- Reason: same parameters, results and errors; a retired account counts as none.
-- Queues a POST operation. What is wrong with it is told by an SQLSTATE of its own, RM010 to RM016 (RM017: cancel_submission).
create or replace function "{schema}".submit(
  operation text, payload jsonb, target_id text default null, user_id bigint default null, idempotency_key text default null
) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
-- The parameters' names are the columns', for callers: within, they are submit.….
#variable_conflict use_column
declare
  operations constant text[] := array['research', 'enrich', 'clay_enrich', 'bulk_research', 'list', 'list_analyze', 'sequence'];
  targeted constant text[] := array['list_analyze', 'sequence'];
  settings constant jsonb := (select i.settings -> 'submit' from "{schema}_sync".installation i);
  max_queued constant bigint := coalesce((settings ->> 'maxQueued')::bigint, 10000);
  moment constant timestamptz := clock_timestamp();
  accounts bigint[];
  account_id bigint := submit.user_id;
  span bigint;
  made bigint;
  known bigint;
  same boolean;
begin
  -- Whoever is told its number relies on it: a crash of the server must not take it back.
  if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'on', true);
  end if;
  if settings ->> 'enabled' = 'false' then
    raise exception using errcode = 'RM015', message = 'submissions are off: MIRROR_SUBMIT=off';
  end if;
  if submit.operation is null or submit.operation <> all (operations) then
    raise exception using errcode = 'RM010',
      message = format('there is no operation %s: there are %s',
        coalesce(quote_literal(left(submit.operation, 100)), 'NULL'), array_to_string(operations, ', '));
  end if;
  if submit.payload is null or jsonb_typeof(submit.payload) <> 'object' then
    raise exception using errcode = 'RM012',
      message = format('the payload of %s must be a JSON object, not %s', submit.operation, coalesce(jsonb_typeof(submit.payload), 'NULL')),
      hint = 'Where the service needs none: ''{}''.';
  end if;
  if octet_length(submit.payload::text) > 1048576 then
    raise exception using errcode = 'RM012', message = format('the payload of %s has more than 1 MiB', submit.operation);
  end if;
  if submit.operation = any (targeted) and coalesce(submit.target_id, '') !~ '\S' then
    raise exception using errcode = 'RM011',
      message = format('%s needs a target_id: %s', submit.operation,
        case submit.operation when 'sequence' then 'the job_id of a research job' else 'the list_id of a list' end);
  end if;
  if submit.operation <> all (targeted) and submit.target_id is not null then
    raise exception using errcode = 'RM011', message = format('%s takes no target_id', submit.operation);
  end if;
  -- It becomes a part of the request's path.
  if length(submit.target_id) > 200 or submit.target_id ~ '[[:cntrl:]]' or submit.target_id in ('.', '..') then
    raise exception using errcode = 'RM011', message = 'the target_id is no ID: at most 200 characters, no control characters';
  end if;
  if length(submit.idempotency_key) not between 1 and 200 then
    raise exception using errcode = 'RM016', message = 'the idempotency_key must have 1 to 200 characters';
  end if;

  accounts := (
    select coalesce(array_agg(a._user_id order by a._user_id), '{}') from "{schema}_sync".account a where a.state <> 'retired');
  if account_id is null then
    if cardinality(accounts) <> 1 then
      raise exception using errcode = 'RM013', message = case cardinality(accounts)
        when 0 then case when exists (select from "{schema}_sync".account)
          then 'no account is mirrored here any more: all are retired'
          else 'no account has been mirrored yet: start the daemon first' end
        else format('there are %s accounts: name one as user_id (%s%s)', cardinality(accounts),
          array_to_string(accounts[1:10], ', '), case when cardinality(accounts) > 10 then ', …' else '' end) end;
    end if;
    account_id := accounts[1];
  elsif account_id <> all (accounts) then
    raise exception using errcode = 'RM013', message = case
      when exists (select from "{schema}_sync".account a where a._user_id = account_id)
        then format('account %s is retired: nothing is sent for it', account_id)
      else format('account %s is not mirrored here', account_id) end;
  end if;

  -- Twice at most: the second time somebody else has queued it under this key meanwhile.
  loop
    if submit.idempotency_key is not null then
      select s.submission_id, (s.operation, s.payload, s.target_id) is not distinct from (submit.operation, submit.payload, submit.target_id)
      into known, same
      from "{schema}".submissions s
      where s._user_id = account_id and s.idempotency_key = submit.idempotency_key;
      if known is not null and not same then
        raise exception using errcode = 'RM016',
          message = format('idempotency_key %s is that of submission %s, which is another operation, target or payload',
            quote_literal(submit.idempotency_key), known);
      end if;
      if known is not null then
        return known;
      end if;
    end if;
    -- A safeguard, not a promise to the last one: what other sessions have not committed yet is not counted. Numbers
    -- rise, so no more can be open than there are numbers since the oldest that is: counting thousands is slow.
    span := coalesce((
        select max(s.submission_id) from "{schema}".submissions s where s._user_id = account_id) - (
        select min(s.submission_id) from "{schema}".submissions s
        where s._user_id = account_id and s.state in ('queued', 'sending', 'held')) + 1, 0);
    if span >= max_queued and max_queued <= (
      select count(*) from (
        select from "{schema}".submissions s
        where s._user_id = account_id and s.state in ('queued', 'sending', 'held') limit max_queued) as open)
    then
      raise exception using errcode = 'RM014',
        message = format('%s submissions of account %s wait already: MIRROR_SUBMIT_MAX_QUEUED', max_queued, account_id);
    end if;
    insert into "{schema}".submissions (_user_id, operation, target_id, payload, idempotency_key, created_at)
    values (account_id, submit.operation, submit.target_id, submit.payload, submit.idempotency_key, moment)
    on conflict (_user_id, idempotency_key) where idempotency_key is not null do nothing
    returning submissions.submission_id into made;
    if made is not null then
      return made;
    end if;
  end loop;
end $$;
