-- Creates what research-mirror needs in PostgreSQL 15 or newer. Run it in psql, as a superuser or, as on most
-- hosted servers, as an administrator with CREATEROLE and CREATEDB. It may be run again:
--   psql -X -v owner_password=… -v reader_password=… -d postgres -f this-file
-- (or set the passwords in the environment, as OWNER_PASSWORD and READER_PASSWORD; psql 15 reads them there).
\set ON_ERROR_STOP on
\if :{?owner_password}
\else
\set owner_password ''
\getenv owner_password OWNER_PASSWORD
\endif
\if :{?reader_password}
\else
\set reader_password ''
\getenv reader_password READER_PASSWORD
\endif
select '' in (:'owner_password', :'reader_password') as lacks_password \gset
\if :lacks_password
do $$ begin raise exception 'a password is missing: psql -v owner_password=… -v reader_password=…'; end $$;
\endif
select exists (select from pg_roles where rolname = :'owner' and rolsuper) as is_superuser \gset
\if :is_superuser
do $$ begin raise exception 'the login of DATABASE_URL is a superuser. Set another login there'; end $$;
\endif
select :'schema' || '_sync' as state_schema, :'schema' || '_reader' as readers,
  :'schema' || '_submitter' as submitters, :'schema' || '_sql' as reader \gset

-- Roles: the daemon's login, which owns the mirror; two groups without a login (readers read everything in the mirror's
-- schema, submitters may also call submit()); and a login that only reads.
select format('create role %I nologin', name)
from unnest(array[:'owner', :'readers', :'submitters', :'reader']) as name
where not exists (select from pg_roles where rolname = name) \gexec

-- Only a superuser may name these attributes, and none of the roles has them unless a superuser gave them. Any other
-- administrator has to be a member of the daemon's login, to make a database and schemas that it owns.
select case when rolsuper then 'nosuperuser noreplication' else '' end as never,
  not rolsuper and not pg_has_role(oid, :'owner', 'usage') as is_outside
from pg_roles where rolname = current_user \gset
\if :is_outside
grant :"owner" to current_user;
\endif

-- The daemon's login can create neither roles nor databases.
alter role :"owner" login :never nocreatedb nocreaterole password :'owner_password';

-- The login that only reads is for psql, BI tools, dbt and the command sql. It has time limits: while a transaction is
-- idle, vacuum removes nothing.
alter role :"reader" login :never nocreatedb nocreaterole connection limit 20 password :'reader_password';
alter role :"reader" set default_transaction_read_only = on;
alter role :"reader" set statement_timeout = '60s';
alter role :"reader" set idle_in_transaction_session_timeout = '60s';
grant :"readers" to :"reader";

-- The database. If it is created here, no other user has rights in it; an existing one keeps its users' rights.
select not exists (select from pg_database where datname = :'database') as is_new \gset
\if :is_new
create database :"database" owner :"owner" template template0 encoding 'UTF8';
revoke all on database :"database" from public;
\endif
grant connect, create on database :"database" to :"owner";
grant connect on database :"database" to :"readers", :"submitters";

\connect :"database"
\if :is_new
revoke all on schema public from public;
\endif
create schema if not exists :"schema" authorization :"owner";
create schema if not exists :"state_schema" authorization :"owner";

-- Next, run research-mirror migrate (or start) as the daemon's login, with its password in DATABASE_URL. It grants the
-- groups their rights on the mirror's tables. Then readers can connect as the login that only reads.
