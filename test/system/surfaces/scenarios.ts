import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { Gateway } from '../../support/network/gateway.ts';
import type { System } from '../../support/processes/system.ts';

/** A TCP address that stands before the database: it can be gone, and come back. */
export interface TcpGate {
  readonly url: string;
  close(): Promise<void>;
  open(): Promise<void>;
}

/** @param databaseUrl what is behind it */
export async function createTcpGate(databaseUrl: string): Promise<TcpGate> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const onward = connect(Number(target.port || 5432), target.hostname);
    for (const each of [socket, onward]) {
      sockets.add(each);
      each
        .on('error', () => {})
        .once('close', () => {
          sockets.delete(each);
          socket.destroy();
          onward.destroy();
        });
    }
    socket.pipe(onward).pipe(socket);
  });
  const open = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
  await open(0);
  const { port } = server.address() as AddressInfo;
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${port}`;
  return {
    url: url.href,
    open: () => open(port),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** What a scenario plays with. */
export interface Stage {
  readonly system: System;
  readonly service: Gateway;
  readonly database: TcpGate;
  /** Runs statements one by one in the mirror's database, past the gate; `{database}` is its name. */
  readonly sql: (...statements: readonly string[]) => Promise<void>;
}

export interface Scenario {
  /** Makes it go wrong. */
  happen(stage: Stage): Promise<void>;
  /** The pass that meets it. */
  readonly sync: readonly string[];
  mend(stage: Stage): Promise<void>;
}

const END_SESSIONS = `select pg_terminate_backend(pid, 5000) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()`;

/** A walk's session was ended before another one, by which the walk's end was still stored: rare, so it is played. */
const STORED_BY_THE_LAST_SESSION = `update mirror._collections set state = 'failing', failing_since = now(),
  last_error = 'the database can''t do it now (57P01 terminating connection due to administrator command)'
  where collection = 'research_jobs'`;

/** Refuses requests whose path begins so. */
function refusing(path: string, status: number, message: string): Pick<Scenario, 'happen' | 'mend'> {
  return {
    happen: ({ service }) => {
      service.refuse(({ url }) => (url?.startsWith(path) === true ? { status, message } : undefined));
      return Promise.resolve();
    },
    mend: ({ service }) => {
      service.refuse(undefined);
      return Promise.resolve();
    },
  };
}

/** The first entry of the watchlist, as the service has it. */
async function firstEntry({ system }: Stage): Promise<string> {
  const [item = '{}'] = await system.sandbox.control.truth({ collection: 'watchlist' });
  return String((JSON.parse(item) as { id: number }).id);
}

/** By the name that the table in docs/what-goes-wrong.md has. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'the database is down': {
    happen: ({ database }) => database.close(),
    sync: ['research_jobs'],
    mend: ({ database }) => database.open(),
  },
  'the database is read-only': {
    happen: ({ sql }) =>
      sql(
        STORED_BY_THE_LAST_SESSION,
        'alter database "{database}" set default_transaction_read_only = on',
        END_SESSIONS,
      ),
    sync: ['research_jobs'],
    mend: ({ sql }) => sql('alter database "{database}" reset default_transaction_read_only', END_SESSIONS),
  },
  'a mirrored table was renamed': {
    happen: ({ sql }) => sql('alter table mirror.research_jobs rename to jobs_of_mine'),
    sync: ['research_jobs'],
    mend: ({ sql }) => sql('alter table mirror.jobs_of_mine rename to research_jobs'),
  },
  'a constraint refuses the newer version of a row': {
    async happen(stage) {
      const id = await firstEntry(stage);
      await stage.sql(
        'alter table mirror.watchlist add constraint short check (length(_raw::text) < 20) not valid',
      );
      await stage.system.sandbox.control.mutate({
        op: 'update',
        collection: 'watchlist',
        id,
        fields: { company_name: 'another' },
      });
    },
    sync: ['watchlist', '--full'],
    mend: ({ sql }) => sql('alter table mirror.watchlist drop constraint short'),
  },
  'a foreign key keeps a row that is to be deleted': {
    async happen(stage) {
      const id = await firstEntry(stage);
      await stage.sql(
        `create table public.notes (u bigint, id text, foreign key (u, id) references mirror.watchlist (_user_id, id))`,
        `insert into public.notes select _user_id, id from mirror.watchlist where id = '${id}'`,
      );
      await stage.system.sandbox.control.mutate({ op: 'delete', collection: 'watchlist', id });
    },
    sync: ['watchlist', '--full'],
    mend: ({ sql }) => sql('drop table public.notes'),
  },
  'the service answers 500': { ...refusing('/', 500, 'oops'), sync: ['research_jobs'] },
  'one endpoint answers 403': {
    ...refusing('/v1/watchlist', 403, 'your plan has no watchlist'),
    sync: ['watchlist'],
  },
  'a list answers 206, a part': { ...refusing('/v1/watchlist', 206, 'a part'), sync: ['watchlist'] },
  'the key is revoked': { ...refusing('/', 401, 'no such key'), sync: ['research_jobs'] },
};
