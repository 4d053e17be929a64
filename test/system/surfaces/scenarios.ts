import type { Gateway } from '../../support/network/gateway.ts';
import type { Address } from '../../support/network/address.ts';
import type { System } from '../../support/processes/system.ts';

/** What a scenario plays with. */
export interface Stage {
  readonly system: System;
  readonly service: Gateway;
  readonly database: Address;
  /** Runs statements one by one in the mirror's database, past that address; `{database}` is its name, `{login}` the daemon's. */
  readonly sql: (...statements: readonly string[]) => Promise<void>;
}

export interface Scenario {
  /** Makes it go wrong. */
  happen(stage: Stage): Promise<void>;
  /** What doctor’s `foreign_objects` names, whose SQL takes it away. */
  readonly foreignObject?: string;
  /** The pass that meets it. */
  readonly sync: readonly string[];
  mend(stage: Stage): Promise<void>;
}

/** Enough failures, over enough routes, to find that it is the service. */
const TWO_ROUTES = ['research_jobs', 'watchlist'];

const END_SESSIONS = `select pg_terminate_backend(pid, 5000) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()`;

/** A walk's session was ended before another one, by which the walk's end was still stored: rare, so it is played. */
const STORED_BY_THE_LAST_SESSION = `update mirror._collections set state = 'failing', failing_since = now(),
  last_error = 'the database can''t do it now (57P01 terminating connection due to administrator command)'
  where collection = 'research_jobs'`;

/** Answers requests whose path begins so. */
const refusing = (path: string, status: number, message: string, sync: readonly string[], html?: string): Scenario => ({
  happen: async ({ service }) =>
    service.refuse(({ url }) =>
      url?.startsWith(path) === true ? { status, message, ...(html === undefined ? {} : { html }) } : undefined,
    ),
  sync,
  mend: async ({ service }) => service.refuse(undefined),
});

/** Statements, and those that undo them. */
const playing = (sync: readonly string[], harm: readonly string[], mend: readonly string[]): Scenario => ({
  happen: ({ sql }) => sql(...harm),
  sync,
  mend: ({ sql }) => sql(...mend),
});

/** Statements that hinder writes of research jobs, and a new job, whose field has no column yet, that meets them. */
const hindering = (
  what: string,
  foreignObject: string,
  harm: readonly string[],
  mend: readonly string[],
): Scenario => ({
  ...playing(['research_jobs'], harm, mend),
  foreignObject,
  async happen({ sql, system }) {
    await sql(...harm);
    const fields = { company: 'new', [`field_of_${what}`]: 1 };
    await system.sandbox.control.mutate({ op: 'insert', collection: 'research_jobs', fields });
  },
});

/** Statements, and what then becomes of the first entry of the watchlist at the service. */
const meeting = (op: 'update' | 'delete', harm: readonly string[], mend: readonly string[]): Scenario => ({
  ...playing(['watchlist', '--full'], harm, mend),
  async happen({ sql, system }) {
    await sql(...harm);
    const [item = '{}'] = await system.sandbox.control.truth({ collection: 'watchlist' });
    const id = String((JSON.parse(item) as { id: number }).id);
    const fields = { company_name: `another by ${harm.join()}` };
    await system.sandbox.control.mutate({
      collection: 'watchlist',
      id,
      ...(op === 'update' ? { op, fields } : { op }),
    });
  },
});

/** By the name that the table in docs/what-goes-wrong.md has. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'the database is down': {
    happen: ({ database }) => database.leadTo(undefined),
    sync: ['research_jobs'],
    mend: ({ database, system }) => database.leadTo(Number(new URL(system.databaseUrl).port)),
  },
  'the database is read-only': playing(
    ['research_jobs'],
    [STORED_BY_THE_LAST_SESSION, 'alter database "{database}" set default_transaction_read_only = on', END_SESSIONS],
    // As doctor says it: sessions that began read-only are still there.
    ['alter database "{database}" reset default_transaction_read_only'],
  ),
  'a mirrored table was renamed': playing(
    ['research_jobs'],
    ['alter table mirror.research_jobs rename to jobs_of_mine'],
    ['alter table mirror.jobs_of_mine rename to research_jobs'],
  ),
  'a constraint refuses the newer version of a row': meeting(
    'update',
    ['alter table mirror.watchlist add constraint short check (length(_raw::text) < 20) not valid'],
    ['alter table mirror.watchlist drop constraint short'],
  ),
  'a foreign key keeps a row that is to be deleted': meeting(
    'delete',
    [
      `create table public.notes (u bigint, id text, foreign key (u, id) references mirror.watchlist (_user_id, id))`,
      'insert into public.notes select _user_id, id from mirror.watchlist',
    ],
    ['drop table public.notes'],
  ),
  'a trigger raises': hindering(
    'trigger',
    'the trigger refuse on mirror.research_jobs',
    [
      `create function public.refuse() returns trigger language plpgsql
        as $$ begin raise exception using errcode = '55000', message = 'not today'; end $$`,
      `create trigger refuse before insert or update on mirror.research_jobs
        for each row execute function public.refuse()`,
    ],
    ['drop function if exists public.refuse() cascade'],
  ),
  'a rule takes rows away': hindering(
    'rule',
    'the rule swallow on mirror.research_jobs',
    ['create rule swallow as on insert to mirror.research_jobs do instead nothing'],
    ['drop rule if exists swallow on mirror.research_jobs'],
  ),
  'an event trigger freezes DDL': hindering(
    'event_trigger',
    'the event trigger freezing',
    [
      `create function public.freeze_ddl() returns event_trigger language plpgsql
        as $$ begin raise 'frozen'; end $$`,
      'create event trigger freezing on ddl_command_start execute function public.freeze_ddl()',
    ],
    ['drop event trigger if exists freezing', 'drop function if exists public.freeze_ddl()'],
  ),
  'a published table has no replica identity': {
    ...meeting(
      'update',
      [
        'alter table mirror.watchlist replica identity nothing',
        'create publication outward for table mirror.watchlist',
      ],
      ['drop publication if exists outward', 'alter table mirror.watchlist replica identity default'],
    ),
    foreignObject: 'the publication outward makes Postgres refuse its changes',
  },
  'the login lost its rights on the schema': playing(
    ['research_jobs'],
    ['alter schema mirror owner to current_user', 'revoke all on schema mirror from {login}'],
    ['alter schema mirror owner to {login}'],
  ),
  'the service is away': {
    happen: ({ service }) => service.close(),
    sync: TWO_ROUTES,
    mend: ({ service }) => service.open(),
  },
  'the service answers HTML': refusing('/', 200, '', TWO_ROUTES, '<html>Welcome</html>'),
  'the service answers 500': refusing('/', 500, 'oops', TWO_ROUTES),
  'one endpoint answers 403': refusing('/v1/watchlist', 403, 'your plan has no watchlist', ['watchlist']),
  'a list answers 206, a part': refusing('/v1/watchlist', 206, 'a part', ['watchlist']),
  'the key is revoked': refusing('/', 401, 'no such key', ['research_jobs']),
};
