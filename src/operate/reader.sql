-- Creates a login that reads one account of the mirror, in every table and view, later ones included. Run it in psql, on
-- the mirror's database, as a superuser or as the mirror's owner with CREATEROLE. Run again with another account, the login
-- reads that account from then on:
--   psql -X -v reader_password=… -f this-file
-- (or set the password in the environment, as READER_PASSWORD; psql 15 reads it there). To undo: drop owned by, drop role.
\set ON_ERROR_STOP on
\if :{?reader_password}
\else
\set reader_password ''
\getenv reader_password READER_PASSWORD
\endif
select :'reader_password' = '' as lacks_password \gset
\if :lacks_password
do $$ begin raise exception 'the password is missing: psql -v reader_password=…'; end $$;
\endif
select :'schema' || '_sync' as state_schema, :'schema' || '_reader' as readers, :'schema' || '_submitter' as submitters \gset
select to_regclass('pg_dist_partition') is not null as may_be_distributed \gset
\if :may_be_distributed
select exists (select from pg_dist_partition where logicalrelid = to_regclass(format('%I.account', :'schema'))) as is_distributed \gset
\if :is_distributed
do $$ begin raise exception 'Citus distributes this mirror: logins for one account are not supported there'; end $$;
\endif
\endif
begin;

-- The role and its time limits.
select format('create role %I nologin', :'reader')
where not exists (select from pg_roles where rolname = :'reader') \gexec
alter role :"reader" login connection limit 20 password :'reader_password';
alter role :"reader" set default_transaction_read_only = on;
alter role :"reader" set statement_timeout = '60s';
alter role :"reader" set idle_in_transaction_session_timeout = '60s';

-- Its policies, on each table with _user_id (all views read these tables with their reader's rights):
--   create policy one_account_… as restrictive for select to <reader> using (_user_id = <account>)
-- and, so that all others read as before: create policy everybody using (true) with check (true).
-- It has its own rights: as a member of a group it could SET ROLE to the group, which has no policy.
select format('revoke %I from %I', g.rolname, :'reader') from pg_auth_members m join pg_roles g on g.oid = m.roleid
where m.member = to_regrole(quote_ident(:'reader')) and g.rolname in (:'readers', :'submitters') \gexec
select :"state_schema".bind_reader(:'reader', :'account'::bigint);
select format('grant connect on database %I to %I', current_database(), :'reader') \gexec
commit;

select tablename, policyname, qual from pg_policies
where schemaname = :'schema' and :'reader' = any (roles) order by tablename;
