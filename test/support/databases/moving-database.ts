import { type Address, createAddress, type WhileAway } from '../network/address.ts';
import { type Cluster, LAZY_COMMITS, type Settings, urlAt } from './cluster.ts';
import { createStandby, type Standby } from './standby.ts';

/**
 * A database at an address that stays, while what is behind it goes back in time: its clients see their connections
 * cut, and then a server again.
 */
export interface MovingDatabase {
  readonly url: string;
  /** The server that the address leads to. */
  server(): Cluster;
  /** From here on a standby follows the server. */
  follow(): Promise<void>;
  /** The standby has all that is committed now, and gets nothing more. */
  cutStandby(): Promise<void>;
  /** The server dies with its machine, and the standby takes its place. */
  failOver(): Promise<void>;
  /** The server dies with its machine, and is started again on its files. */
  crash(): Promise<void>;
  /** A base backup of this moment. */
  backUp(): Promise<Cluster>;
  /** The server is stopped, and goes on from a backup, in place, on the timeline that it was on. */
  restore(backup: Cluster): Promise<void>;
  /** Copies the database within the server, as it is. */
  copyDatabase(): Promise<void>;
  /** The copy takes the database's name, and the database is gone. */
  takeCopy(): Promise<void>;
  /** Stops what runs, and removes its files. */
  close(): Promise<void>;
}

export interface MovingOptions {
  /** Of a crash that loses commits which were answered; default false. */
  readonly lazyCommits?: boolean;
  /** Of new connections while no server is there; default: they wait. */
  readonly whileAway?: WhileAway;
}

/** The clients' database, and another one, to which nobody else connects. */
const NAME = 'postgres';
const MAINTENANCE = 'template1';

/** @param cluster stopped; the database's own from here on */
export async function createMovingDatabase(
  cluster: Cluster,
  { lazyCommits = false, whileAway = 'wait' }: MovingOptions = {},
): Promise<MovingDatabase> {
  const settings: Settings = lazyCommits ? LAZY_COMMITS : {};
  await cluster.start(settings);
  const address: Address = await createAddress(cluster.port, whileAway);
  const used = new Set([cluster]);
  let server = cluster;
  let standby: Standby | undefined;
  const following = (): Standby => {
    if (standby === undefined) throw new Error('nothing follows the server');
    return standby;
  };
  const withoutClients = async (...statements: readonly string[]): Promise<void> => {
    address.leadTo(undefined);
    const others = `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${NAME}'`;
    for (const statement of [others, ...statements]) await server.ask(statement, MAINTENANCE);
    address.leadTo(server.port);
  };
  return {
    url: urlAt(address.port),
    server: () => server,
    async follow() {
      standby = await createStandby(server, settings);
      used.add(standby.cluster);
    },
    async cutStandby() {
      await following().caughtUp();
      following().cut();
    },
    async failOver() {
      const next = following();
      address.leadTo(undefined);
      await server.crash();
      await next.promote();
      await next.close();
      server = next.cluster;
      standby = undefined;
      address.leadTo(server.port);
    },
    async crash() {
      address.leadTo(undefined);
      await server.crash();
      await server.start(settings);
      address.leadTo(server.port);
    },
    async backUp() {
      const backup = await server.backUp();
      used.add(backup);
      return backup;
    },
    async restore(backup) {
      address.leadTo(undefined);
      await server.stop();
      await server.becomes(backup);
      await server.start(settings);
      address.leadTo(server.port);
    },
    copyDatabase: () => withoutClients(`create database older template ${NAME}`),
    async takeCopy() {
      await withoutClients(`alter database ${NAME} rename to gone`, `alter database older rename to ${NAME}`);
      await server.ask('drop database gone', MAINTENANCE);
    },
    async close() {
      await Promise.all([address.close(), standby?.close()]);
      for (const each of used) await each.remove();
    },
  };
}
