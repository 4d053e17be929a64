import { createAddress } from '../network/address.ts';
import { type Cluster, type Settings, urlAt } from './cluster.ts';
import { eventually } from '@research-mirror/runtime/testing/eventually';

/** A streaming standby of a running server. */
export interface Standby {
  readonly cluster: Cluster;
  /** Until it has all that its primary has on disk. */
  caughtUp(): Promise<void>;
  /** Nothing comes from the primary any more, for good. */
  cut(): void;
  /** It becomes a primary, of a timeline of its own. */
  promote(): Promise<void>;
  /** Ends what joins it to its primary, not the server. */
  close(): Promise<void>;
}

export async function createStandby(primary: Cluster, settings: Settings = {}): Promise<Standby> {
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
    async caughtUp() {
      // What is committed without a wait for the disk is sent only once it is there.
      const [target] = await primary.ask<{ lsn: string }>(
        `select pg_logical_emit_message(false, 'test', '', true)::text as lsn`,
      );
      await eventually('the standby to catch up', async () => {
        const [found] = await cluster.ask<{ there: boolean }>(
          `select pg_last_wal_replay_lsn() >= '${target?.lsn ?? ''}' as there`,
        );
        return found?.there;
      });
    },
    cut: () => link.leadTo(undefined),
    async promote() {
      link.leadTo(undefined);
      await cluster.ask('select pg_promote(true, 60)');
    },
    close: () => link.close(),
  };
}
