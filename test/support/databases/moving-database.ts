import { createAddress, type WhileAway } from '../network/address.ts';
import { type Cluster, LAZY_COMMITS, type Settings, urlAt } from './cluster.ts';
import { eventually } from '@research-mirror/runtime/testing/eventually';

export interface MovingOptions {
  /** A crash loses commits which were answered; default false. */
  readonly lazyCommits?: boolean;
  /** What new connections do while no server is there; default: they wait. */
  readonly whileAway?: WhileAway;
}

/** The clients' database, and another one for statements while they are away. */
const NAME = 'postgres';
const MAINTENANCE = 'template1';

export type MovingDatabase = Awaited<ReturnType<typeof createMovingDatabase>>;

/**
 * A database at an address that stays, while what is behind it goes back in time: its clients see their connections
 * cut, and then a server again.
 * @param cluster stopped; the database's own from here on
 */
export async function createMovingDatabase(
  cluster: Cluster,
  { lazyCommits = false, whileAway = 'wait' }: MovingOptions = {},
) {
  const settings: Settings = lazyCommits ? LAZY_COMMITS : {};
  await cluster.start(settings);
  const address = await createAddress(cluster.port, whileAway);
  const used = new Set([cluster]);
  let server = cluster;
  let standby: Standby | undefined;
  const following = (): Standby => {
    if (standby === undefined) throw new Error('nothing follows the server');
    return standby;
  };
  /** Does something while clients are away, and leads them to the server that there is then. */
  const away = async (work: () => Promise<void>): Promise<void> => {
    await address.leadTo(undefined);
    await work();
    await address.leadTo(server.port);
  };
  const withoutClients = (...statements: readonly string[]) =>
    away(async () => {
      const others = `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${NAME}'`;
      for (const statement of [others, ...statements]) await server.ask(statement, MAINTENANCE);
    });
  return {
    url: urlAt(address.port),
    /** The server that the address leads to. */
    server: () => server,
    /** From here on a standby follows the server. */
    async follow() {
      standby = await createStandby(server, settings);
      used.add(standby.cluster);
    },
    /** The standby has all that is committed now, and gets nothing more. */
    cutStandby: async (): Promise<void> => {
      await following().caughtUp();
      await following().cut();
    },
    /** The server dies with its machine, and the standby takes its place. */
    failOver: () =>
      away(async () => {
        const next = following();
        await server.crash();
        await next.promote();
        await next.close();
        server = next.cluster;
        standby = undefined;
      }),
    /** The server dies with its machine, and is started again on its files. */
    crash: () =>
      away(async () => {
        await server.crash();
        await server.start(settings);
      }),
    /** A base backup of this moment. */
    async backUp() {
      const backup = await server.backUp();
      used.add(backup);
      return backup;
    },
    /** The server is stopped, and goes on from a backup, in place, on the timeline that it was on. */
    restore: (backup: Cluster) =>
      away(async () => {
        await server.stop();
        await server.becomes(backup);
        await server.start(settings);
      }),
    /** Copies the database within the server, as it is. */
    copyDatabase: () => withoutClients(`create database older template ${NAME}`),
    /** The copy takes the database's name, and the database is gone. */
    async takeCopy() {
      await withoutClients(`alter database ${NAME} rename to gone`, `alter database older rename to ${NAME}`);
      await server.ask('drop database gone', MAINTENANCE);
    },
    /** Stops what runs, and removes its files. */
    async close() {
      await Promise.all([address.close(), standby?.close()]);
      for (const each of used) await each.remove();
    },
  };
}

type Standby = Awaited<ReturnType<typeof createStandby>>;

/** A streaming standby of a running server. */
async function createStandby(primary: Cluster, settings: Settings) {
  const [cluster, link] = await Promise.all([primary.backUp(), createAddress(primary.port)]);
  await cluster.write('standby.signal', '');
  const { username, password } = new URL(urlAt(link.port));
  await cluster.start({
    ...settings,
    primary_conninfo: `host=127.0.0.1 port=${link.port} user=${username} password=${password}`,
    wal_retrieve_retry_interval: '200ms',
  });
  return {
    cluster,
    /** Until it has all that its primary has on disk. */
    async caughtUp() {
      // What is committed without a wait for the disk is sent only once it is there.
      const emit = `select pg_logical_emit_message(false, 'test', '', true)::text as lsn`;
      const [target] = await primary.ask<{ lsn: string }>(emit);
      const isThere = `select where pg_last_wal_replay_lsn() >= '${target?.lsn ?? ''}'`;
      await eventually('the standby to catch up', async () => (await cluster.ask(isThere)).length > 0);
    },
    /** Nothing comes from the primary any more, for good. */
    cut: () => link.leadTo(undefined),
    /** It becomes a primary, of a timeline of its own. */
    async promote() {
      await link.leadTo(undefined);
      await cluster.ask('select pg_promote(true, 60)');
    },
    /** Ends what joins it to its primary, not the server. */
    close: () => link.close(),
  };
}
