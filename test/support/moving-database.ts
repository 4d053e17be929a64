import { type Address, createAddress } from './address.ts';
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
  /** Stops what runs, and removes its files. */
  close(): Promise<void>;
}

export interface MovingOptions {
  /** Of a crash that loses commits which were answered; default false. */
  readonly lazyCommits?: boolean;
  readonly database?: string;
}

/** @param cluster stopped; the database's own from here on */
export async function createMovingDatabase(
  cluster: Cluster,
  { lazyCommits = false, database = 'postgres' }: MovingOptions = {},
): Promise<MovingDatabase> {
  const settings: Settings = lazyCommits ? LAZY_COMMITS : {};
  await cluster.start(settings);
  const address: Address = await createAddress(cluster.port);
  const used = new Set([cluster]);
  let server = cluster;
  let standby: Standby | undefined;
  const following = (): Standby => {
    if (standby === undefined) throw new Error('nothing follows the server');
    return standby;
  };
  return {
    url: urlAt(address.port, database),
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
      await server.crash();
      address.leadTo(undefined);
      await next.promote();
      await next.close();
      server = next.cluster;
      standby = undefined;
      address.leadTo(server.port);
    },
    async crash() {
      await server.crash();
      address.leadTo(undefined);
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
    async close() {
      await Promise.all([address.close(), standby?.close()]);
      for (const each of used) await each.remove();
    },
  };
}
