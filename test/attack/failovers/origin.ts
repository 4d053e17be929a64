import { type Cluster, createSite } from '../../support/databases/cluster.ts';
import { openTable } from '../support/server.ts';

/**
 * Gives a stopped cluster with a migrated, empty mirror, of which each game plays on a copy, while `work` lasts.
 * @param programsOf as `createSite`'s
 */
export async function withOrigin<T>(
  work: (origin: Cluster) => Promise<T>,
  programsOf?: Parameters<typeof createSite>[0],
): Promise<T> {
  const site = await createSite(programsOf);
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
