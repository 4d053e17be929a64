import { type Cluster, createSite } from '../../support/databases/cluster.ts';
import { openTable } from '../support/server.ts';

/** Gives a stopped cluster with a migrated, empty mirror, of which each game plays on a copy, while `work` lasts. */
export async function withOrigin<T>(work: (origin: Cluster) => Promise<T>): Promise<T> {
  const site = await createSite();
  try {
    const origin = await site.cluster();
    await origin.start();
    const migrated = await openTable(origin.url);
    await migrated.close();
    await origin.stop();
    return await work(origin);
  } finally {
    await site.remove();
  }
}
