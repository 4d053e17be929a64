import { openInstallation } from '../../../src/db/installation/installation.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import type { MigratedDatabase } from '../databases/migrated-database.ts';

/** Opens the installation of a database, as a daemon does that takes submissions: `submit()` queues them from here on. */
export async function takeSubmissions({ db }: Pick<MigratedDatabase, 'db'>): Promise<void> {
  const submit = { enabled: true, maxQueued: 10_000 };
  await openInstallation({ db, host: undefined, submit, clock: systemClock });
}
