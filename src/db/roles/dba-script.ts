import { quotedName, quotedText } from '../connection/quoted.ts';
import { groupRoles } from './roles.ts';
import { LOGIN_CONNECTIONS, LOGIN_TIMEOUT, sqlLogin } from './sql-login.ts';

export interface DbaScript {
  /** MIRROR_SCHEMA. */
  readonly schema: string;
  /** Login of the daemon. */
  readonly owner: string;
  /** The mirror's database. */
  readonly database: string;
}

/** How long a reader's transaction may do nothing: meanwhile vacuum removes nothing. */
const IDLE = '60s';

/**
 * What a DBA runs once, by psql: the daemon's login, its database and schemas, the group roles, and a login that only
 * reads. It may be run again, and then mends what was changed. Rights on the mirror's tables come with its migrations,
 * whose owner grants them.
 */
export function dbaScript({ schema, owner, database }: DbaScript): string {
  const [login, place, reader] = [quotedName(owner), quotedName(database), quotedName(sqlLogin(schema))];
  const groups = groupRoles(schema).map(({ name }) => name);
  return `-- What research-mirror needs of a PostgreSQL 15 or newer. Run it by psql, as a superuser, once or again:
--   psql -X -v owner_password=… -v reader_password=… -d postgres -f this-file
-- (or leave the passwords in the environment, as OWNER_PASSWORD and READER_PASSWORD, which psql 15 reads).
\\set ON_ERROR_STOP on
\\if :{?owner_password}
\\else
\\getenv owner_password OWNER_PASSWORD
\\endif
\\if :{?reader_password}
\\else
\\getenv reader_password READER_PASSWORD
\\endif
\\if :{?owner_password}
\\else
do $$ begin raise exception 'which password? psql -v owner_password=…'; end $$;
\\endif
\\if :{?reader_password}
\\else
do $$ begin raise exception 'which password? psql -v reader_password=…'; end $$;
\\endif

-- The daemon's login: it owns the mirror, and may make neither roles nor databases.
do $check$ begin
  if exists (select from pg_roles where rolname = ${quotedText(owner)} and rolsuper) then
    raise exception '% is a superuser: name another login in DATABASE_URL', ${quotedText(owner)};
  end if;
end $check$;
${createRole(owner)}
alter role ${login} login nosuperuser nocreatedb nocreaterole noreplication password :'owner_password';

-- Groups (nobody logs in as them): readers read everything in "${schema}"; submitters may call submit(), too.
${groups.map((name) => createRole(name, ' nologin')).join('\n')}

-- A login that only reads, bounded: for psql, BI tools, dbt, and the command sql.
${createRole(sqlLogin(schema))}
alter role ${reader} login nosuperuser nocreatedb nocreaterole noreplication connection limit ${LOGIN_CONNECTIONS} password :'reader_password';
alter role ${reader} set default_transaction_read_only = on;
alter role ${reader} set statement_timeout = '${LOGIN_TIMEOUT}';
alter role ${reader} set idle_in_transaction_session_timeout = '${IDLE}';
grant ${quotedName(`${schema}_reader`)} to ${reader};

-- The database. In one that is made here, nobody else may do anything; one that is there keeps its other users' rights.
select not exists (select from pg_database where datname = ${quotedText(database)}) as is_new \\gset
select ${quotedText(`create database ${place} owner ${login} template template0 encoding 'UTF8'`)} where :'is_new' \\gexec
\\if :is_new
revoke all on database ${place} from public;
\\endif
grant connect, create on database ${place} to ${login};
grant connect on database ${place} to ${groups.map(quotedName).join(', ')};

\\connect ${place}
\\if :is_new
revoke all on schema public from public;
\\endif
create schema if not exists ${quotedName(schema)} authorization ${login};
create schema if not exists ${quotedName(`${schema}_sync`)} authorization ${login};

-- Next, as the daemon's login (DATABASE_URL=postgres://${owner}:…@host/${database}): research-mirror migrate, or start.
-- Then readers connect as postgres://${sqlLogin(schema)}:…@host/${database}.
`;
}

/** A line for psql that makes a role where there is none of that name. */
function createRole(name: string, options = ''): string {
  const statement = `create role ${quotedName(name)}${options}`;
  return `select ${quotedText(statement)} where not exists (select from pg_roles where rolname = ${quotedText(name)}) \\gexec`;
}
