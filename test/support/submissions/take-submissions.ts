import { openInstallation } from '../../../src/db/installation/installation.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import type { MigratedDatabase } from '../databases/migrated-database.ts';

/** Opens the installation of a database, as a daemon does that takes submissions: `submit()` queues them from here on. */
export async function takeSubmissions({
  kysely: db,
  schema,
}: Pick<MigratedDatabase, 'kysely' | 'schema'>): Promise<void> {
  const submit = { enabled: true, maxQueued: 10_000 };
  await openInstallation({ db, schema, host: undefined, submit, clock: systemClock });
}
