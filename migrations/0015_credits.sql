-- Credits by day, from the account's versions.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

create view "{schema}".credits_daily as
  select _user_id, day, closing + burnt - topped_up as opening, burnt, topped_up, closing
  from (
    select _user_id, day, burnt, topped_up, max(closing) over (partition by _user_id, known) as closing
    from (
      select d._user_id, d.day, coalesce(v.burnt, 0) as burnt, coalesce(v.topped_up, 0) as topped_up, v.closing,
        -- Days without a version belong to the last one that has one.
        count(v.closing) over (partition by d._user_id order by d.day) as known
      from (
        select a._user_id,
          generate_series((min(a._valid_from) at time zone 'UTC')::date, (now() at time zone 'UTC')::date, '1 day')::date as day
        from "{schema}".account_versions a where a.credits is not null
        group by a._user_id) d
      left join (
        select s._user_id, (s._valid_from at time zone 'UTC')::date as day,
          coalesce(sum(s.before - s.credits) filter (where s.credits < s.before), 0) as burnt,
          coalesce(sum(s.credits - s.before) filter (where s.credits > s.before), 0) as topped_up,
          (array_agg(s.credits order by s._valid_from desc, s._change_id desc))[1] as closing
        from (
          select a._user_id, a._valid_from, a._change_id, a.credits,
            lag(a.credits) over (partition by a._user_id order by a._valid_from, a._change_id) as before
          from "{schema}".account_versions a where a.credits is not null) s
        group by s._user_id, (s._valid_from at time zone 'UTC')::date) v on v._user_id = d._user_id and v.day = d.day) daily
  ) filled
  where has_table_privilege('"{schema}".account', 'select') and has_table_privilege('"{schema}".account_versions', 'select');

comment on view "{schema}".credits_daily is 'Credits of each account, a row for each day (UTC) since the first one that history knows.';
comment on column "{schema}".credits_daily._user_id is 'Owner of the API key.';
comment on column "{schema}".credits_daily.day is 'The day, UTC.';
comment on column "{schema}".credits_daily.opening is 'Credits when it began; on the first day: when the account was first mirrored.';
comment on column "{schema}".credits_daily.burnt is 'By how much they fell from one reading to the next, in all.';
comment on column "{schema}".credits_daily.topped_up is 'By how much they rose from one reading to the next, in all.';
comment on column "{schema}".credits_daily.closing is 'Credits when it ended; today: now.';
