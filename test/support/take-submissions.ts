import { openInstallation } from '../../src/db/installation.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import type { MigratedDatabase } from './migrated-database.ts';

/** Opens the installation of a database, as a daemon does that takes submissions: `submit()` queues them from here on. */
export async function takeSubmissions({
  kysely: db,
  schema,
}: Pick<MigratedDatabase, 'kysely' | 'schema'>): Promise<void> {
  const submit = { enabled: true, maxQueued: 10_000 };
  await openInstallation({ db, schema, host: undefined, submit, clock: systemClock });
}
