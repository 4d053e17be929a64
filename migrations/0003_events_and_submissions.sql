-- Deliveries of the service's webhook, and POST operations queued here.
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction, run by src/db/migrate.ts.

-- Events --------------------------------------------------------------------------------------------------------

-- The account's webhook as the service says. Written when the registration is looked at, by the account's owner.
create table "{schema}".webhook (
  _user_id bigint not null,
  url text,
  active boolean,
  event_types jsonb,
  _first_seen_at timestamptz not null,
  _changed_at timestamptz not null,
  _change_id bigint not null,
  _deleted_at timestamptz,
  _raw jsonb not null,
  primary key (_user_id)
);

-- Verified deliveries. Written by whatever process received them, outside the fence: nothing else writes them.
create table "{schema}".events (
  _user_id bigint not null,
  id text collate "C" not null,
  type text,
  created_at timestamptz,
  data jsonb,
  received_at timestamptz not null,
  _raw jsonb not null,
  _verbatim text,
  -- The row that it names, where it names one.
  _collection text,
  _key text collate "C",
  primary key (_user_id, id)
);
create index events_received on "{schema}".events (_user_id, received_at);
create index events_row on "{schema}".events (_user_id, _collection, _key, received_at);

-- IDs of events, which outlive their rows: a delivery that is repeated late is still known.
create table "{schema}_sync".event_seen (
  _user_id bigint not null,
  id text collate "C" not null,
  received_at timestamptz not null,
  primary key (_user_id, id)
);
create index event_seen_received on "{schema}_sync".event_seen (_user_id, received_at);

-- What events say may have changed: to be read as soon as possible. One row however many events name it.
create table "{schema}_sync".hint (
  _user_id bigint not null,
  collection text not null,
  parent text not null default '',
  -- '' for the scope as a whole.
  key text collate "C" not null default '',
  -- Rises with each event: what is hinted while it is being read stays.
  seq bigint not null default 1,
  -- When the last event came.
  hinted_at timestamptz not null,
  due_at timestamptz not null,
  -- Readings since that did not show a change.
  step smallint not null default 0,
  primary key (_user_id, collection, parent, key)
);
create index hint_due on "{schema}_sync".hint (due_at);

-- What this mirror knows of an account's webhook registration; written by the account's owner, but for what receivers
-- learn of the secrets (scheme, previous_scheme, verified_at, mismatches).
create table "{schema}_sync".registration (
  _user_id bigint not null,
  -- none, registering, registered, foreign, suspect, stopped
  state text not null default 'none',
  -- What was sent with the last request that registers.
  url text,
  -- As that request was answered; null: all.
  event_types jsonb,
  secret text,
  secret_at timestamptz,
  -- Signature scheme that succeeded with the secret.
  scheme text,
  -- Deliveries signed before the last registration may still be under way.
  previous_secret text,
  previous_until timestamptz,
  previous_scheme text,
  -- When the last request that registers was sent: in state registering it may be under way.
  registering_at timestamptz,
  -- When the last one that was accepted was answered.
  registered_at timestamptz,
  checked_at timestamptz,
  -- When another URL was found in place of ours.
  replaced_at timestamptz[] not null default '{}',
  verified_at timestamptz,
  mismatches integer not null default 0,
  -- When it was last registered anew because of mismatches.
  suspect_at timestamptz,
  error text,
  primary key (_user_id)
);

-- Every URL that was ever registered for an account from here, as sent and as the service spelled it: such a
-- registration is ours.
create table "{schema}_sync".own_url (
  _user_id bigint not null,
  url text not null,
  registered_at timestamptz not null,
  primary key (_user_id, url)
);

-- Operations ------------------------------------------------------------------------------------------------------

create table "{schema}".submissions (
  _user_id bigint not null,
  submission_id bigint generated always as identity,
  operation text not null,
  target_id text,
  payload jsonb not null,
  idempotency_key text,
  state text not null default 'queued',
  response_status integer,
  response jsonb,
  error text,
  created_at timestamptz not null,
  sent_at timestamptz,
  done_at timestamptz,
  -- Idempotency-Key of the request: the same however often it has to be sent again.
  _request_id uuid not null default gen_random_uuid(),
  -- The request is written before this moment, or not at all.
  _send_before timestamptz,
  -- Not to be tried before then: an attempt that was not carried out waits.
  _not_before timestamptz,
  -- Outcome unknown: from then on, what the service lists tells whether it took effect.
  _conclusive_at timestamptz,
  -- The response as JSON text where jsonb can't hold it as it is.
  _verbatim text,
  primary key (_user_id, submission_id),
  check (state in ('queued', 'sending', 'accepted', 'rejected', 'unknown', 'cancelled', 'held'))
);
create unique index submissions_key on "{schema}".submissions (_user_id, idempotency_key) where idempotency_key is not null;
create index submissions_open on "{schema}".submissions (_user_id, submission_id) where state in ('queued', 'sending', 'held');
-- By operation: each has its place in a rate limit, and the oldest of each are asked for.
create index submissions_queued on "{schema}".submissions (_user_id, operation, submission_id) where state = 'queued';
-- cancel_submission() is told the number alone.
create index submissions_id on "{schema}".submissions (submission_id);
create index submissions_done on "{schema}".submissions (_user_id, done_at);
-- Retention: those with an idempotency_key stay longer, and are not looked at each time.
create index submissions_done_keyless on "{schema}".submissions (_user_id, done_at) where idempotency_key is null;

alter table "{schema}_sync".scope
  -- When it last came due: a reading that began before leaves it due (due_at is since when, for the order of readings).
  add column last_due_at timestamptz;

-- A database that was restored or copied must not send again what it finds queued.
alter table "{schema}_sync".installation
  -- By which a restore, a copy or a branch is told from the database that was here before (src/db/fingerprint.ts).
  add column fingerprint jsonb,
  -- Written each minute while a daemon runs.
  add column alive_at timestamptz,
  -- Since when nothing is sent, and why; null: submissions go out.
  add column held_at timestamptz,
  add column held_why text;

-- Queues a POST operation. What is wrong with it is told by an SQLSTATE of its own, RM010 to RM016 (RM017: cancel_submission).
create function "{schema}".submit(
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

  accounts := (select coalesce(array_agg(a._user_id order by a._user_id), '{}') from "{schema}_sync".account a);
  if account_id is null then
    if cardinality(accounts) <> 1 then
      raise exception using errcode = 'RM013', message = case cardinality(accounts)
        when 0 then 'no account has been mirrored yet: start the daemon first'
        else format('there are %s accounts: name one as user_id (%s%s)', cardinality(accounts),
          array_to_string(accounts[1:10], ', '), case when cardinality(accounts) > 10 then ', …' else '' end) end;
    end if;
    account_id := accounts[1];
  elsif account_id <> all (accounts) then
    raise exception using errcode = 'RM013', message = format('account %s is not mirrored here', account_id);
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

-- Cancels a submission that has not been sent: true when it will not be. RM017: there is none, or it was sent.
create function "{schema}".cancel_submission(submission_id bigint) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  moment constant timestamptz := clock_timestamp();
  found_account bigint;
  found_state text;
begin
  select s._user_id into found_account from "{schema}".submissions s where s.submission_id = cancel_submission.submission_id;
  -- Its owner takes it by its state, too: whoever has the lock first has it.
  select s.state into found_state from "{schema}".submissions s
  where s._user_id = found_account and s.submission_id = cancel_submission.submission_id for update;
  if found_state is null then
    raise exception using errcode = 'RM017',
      message = format('there is no submission %s', coalesce(cancel_submission.submission_id::text, 'NULL'));
  end if;
  if found_state not in ('queued', 'held', 'cancelled') then
    raise exception using errcode = 'RM017',
      message = format('submission %s is %s: only queued and held ones can be cancelled', cancel_submission.submission_id, found_state);
  end if;
  update "{schema}".submissions s set state = 'cancelled', done_at = moment
  where s._user_id = found_account and s.submission_id = cancel_submission.submission_id and s.state in ('queued', 'held');
  return true;
end $$;

revoke all on function "{schema}".submit(text, jsonb, text, bigint, text) from public;
revoke all on function "{schema}".cancel_submission(bigint) from public;

do $$
declare
  submitter constant regrole := to_regrole('"{schema}_submitter"');
begin
  -- A role that is made later gets this with its first grants (src/db/roles.ts).
  if submitter is not null then
    execute format('grant execute on function "{schema}".submit(text, jsonb, text, bigint, text) to %s', submitter);
    execute format('grant execute on function "{schema}".cancel_submission(bigint) to %s', submitter);
  end if;
end $$;

-- Comments ----------------------------------------------------------------------------------------------------------

comment on table "{schema}".webhook is 'The account''s webhook as the service says: GET /v1/webhooks, without the secret.';
comment on column "{schema}".webhook._user_id is 'Owner of the API key.';
comment on column "{schema}".webhook.url is 'Where the service delivers events.';
comment on column "{schema}".webhook.active is 'Whether it does.';
comment on column "{schema}".webhook.event_types is 'Subscribed event types; null means all.';
comment on column "{schema}".webhook._first_seen_at is 'When the row came into this mirror.';
comment on column "{schema}".webhook._changed_at is 'When the row''s content last changed in this mirror.';
comment on column "{schema}".webhook._change_id is 'Watermark: rises in commit order and is unique for each _user_id.';
comment on column "{schema}".webhook._deleted_at is 'Null while a webhook is registered.';
comment on column "{schema}".webhook._raw is 'The whole object as the service sent it, without a secret.';

comment on table "{schema}".events is 'Deliveries of the webhook whose signature was right, one row an event, kept for MIRROR_EVENTS_RETENTION.';
comment on column "{schema}".events._user_id is 'The account to whose address it was delivered.';
comment on column "{schema}".events.id is 'ID that the service gave the event; the SHA-256 of its body where it gave none.';
comment on column "{schema}".events.type is 'For example research.completed.';
comment on column "{schema}".events.created_at is 'When the service made the event, as it says.';
comment on column "{schema}".events.data is 'Payload of the event.';
comment on column "{schema}".events.received_at is 'When it was received here for the first time.';
comment on column "{schema}".events._raw is 'The whole body.';
comment on column "{schema}".events._verbatim is 'The body''s exact text where _raw had to replace characters that jsonb can''t hold; else null.';
comment on column "{schema}".events._collection is 'Table of the row that the event names, where it names one.';
comment on column "{schema}".events._key is 'Key of the row that the event names.';

comment on table "{schema}".submissions is 'POST operations of the service that were queued here with submit().';
comment on column "{schema}".submissions._user_id is 'The account for which it is carried out.';
comment on column "{schema}".submissions.submission_id is 'What submit() returned.';
comment on column "{schema}".submissions.operation is 'research, enrich, clay_enrich, bulk_research, list, list_analyze or sequence.';
comment on column "{schema}".submissions.target_id is 'Of list_analyze the list, of sequence the research job.';
comment on column "{schema}".submissions.payload is 'Body of the request.';
comment on column "{schema}".submissions.idempotency_key is 'As given to submit(): the same key gives the same submission. Kept four times MIRROR_LOG_RETENTION and at least 400 days after done_at; submissions without one go after MIRROR_LOG_RETENTION.';
comment on column "{schema}".submissions.state is 'queued, sending, accepted, rejected, unknown (it may have taken effect, and is never sent again), cancelled, or held (after a restore or copy of the database, until released).';
comment on column "{schema}".submissions.response_status is 'HTTP status of the answer; null while there is none.';
comment on column "{schema}".submissions.response is 'Body of the answer, whole; a JSON string where it is no JSON.';
comment on column "{schema}".submissions.error is 'Why it was rejected, is unknown, or waits.';
comment on column "{schema}".submissions.created_at is 'When it was queued.';
comment on column "{schema}".submissions.sent_at is 'When it was sent; null while that has not happened, or has had no effect.';
comment on column "{schema}".submissions.done_at is 'When it was accepted, rejected or cancelled, or its outcome became unknown.';
comment on column "{schema}".submissions._request_id is 'Idempotency-Key header of its request.';
comment on column "{schema}".submissions._send_before is 'Its request is written before this moment or not at all.';
comment on column "{schema}".submissions._not_before is 'It is not tried before this moment.';
comment on column "{schema}".submissions._conclusive_at is 'Where the outcome is unknown: from then on the service''s own lists tell whether it took effect.';
comment on column "{schema}".submissions._verbatim is 'The response as exact JSON text where it had to replace characters that jsonb can''t hold; else null.';

comment on function "{schema}".submit(text, jsonb, text, bigint, text) is 'Queues a POST operation of the service and returns its submission_id; the same idempotency_key gives the same one. Watch the table submissions for what becomes of it.';
comment on function "{schema}".cancel_submission(bigint) is 'Cancels a submission that is queued or held; an error where it was sent already.';

comment on column "{schema}".freshness.state is 'new (the first load is under way), current, or failing (then last_error says why).';

-- BI tools show the comments of a view's own columns. A view that somebody else rebuilt is theirs.
do $$
declare col record;
begin
  for col in
    select v.relname as view, a.attname as name, d.description as comment
    from pg_class as v
    join pg_attribute as a on a.attrelid = v.oid and a.attnum > 0 and not a.attisdropped
    join pg_class as t on t.relnamespace = v.relnamespace and v.relname in (t.relname || '_live', t.relname || '_versions')
    join pg_attribute as b on b.attrelid = t.oid and b.attname = a.attname
    join pg_description as d on d.classoid = 'pg_class'::regclass and d.objoid = t.oid and d.objsubid = b.attnum
    where v.relnamespace = '"{schema}"'::regnamespace and v.relkind = 'v' and pg_has_role(v.relowner, 'usage')
      and col_description(v.oid, a.attnum) is null
  loop
    execute format('comment on column "{schema}".%I.%I is %L', col.view, col.name, col.comment);
  end loop;
  for col in
    select v.relname as view, a.attname as name
    from pg_class as v
    join pg_attribute as a on a.attrelid = v.oid and a.attname in ('_key', '_list_key')
    where v.relnamespace = '"{schema}"'::regnamespace and v.relkind = 'v' and pg_has_role(v.relowner, 'usage')
      and v.relname like '%\_live' and col_description(v.oid, a.attnum) is null
  loop
    execute format('comment on column "{schema}".%I.%I is %L', col.view, col.name,
      case col.name when '_key' then 'The whole primary key as one text, for tools that join by one column.'
        else 'The _key of the list in lists_live.' end);
  end loop;
end
$$;
