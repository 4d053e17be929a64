import type { Db } from '../../db/connection/db.ts';
import { MIGRATIONS, programVersion } from '../../app/program-files.ts';
import type { Config } from '../../config/config.ts';
import { openDatabase, TRANSACTION_BOUNDS, type TransactionBounds } from '../../db/connection/database.ts';
import { pendingMigrations } from '../../db/migrations/run-migrations.ts';
import { Unusable } from '@research-mirror/runtime/errors';
import { makeLog } from './log.ts';
import { type MirrorDatabase, reachMirror, type ReachOptions } from './mirror-database.ts';
import type { Shell } from '../terminal/shell.ts';

/** A mirror's database as a command asks it by itself. */
export interface MigratedMirror {
  readonly db: Db;
  readonly reached: MirrorDatabase;
}

interface MigratedOptions extends Pick<ReachOptions, 'command' | 'which'> {
  /** Default `TRANSACTION_BOUNDS`. */
  readonly bounds?: TransactionBounds;
  /** Past a pooler, where there is such a way. */
  readonly direct?: boolean;
}

/**
 * Does `work` on the mirror's database, which must be there and of this version.
 * @throws Unusable; errors of `work`
 */
export async function onMigratedMirror<T>(
  shell: Shell,
  config: Config,
  { bounds = TRANSACTION_BOUNDS, direct = false, ...options }: MigratedOptions,
  work: (mirror: MigratedMirror) => Promise<T>,
): Promise<T> {
  const reached = await reachMirror(config, shell, {
    ...options,
    log: makeLog(config, shell, shell.err, 'warn'),
  });
  try {
    const connection = direct ? reached.direct : reached.connection;
    const database = await openDatabase({ ...connection, schema: config.schema, max: 2, bounds });
    const { db } = database;
    try {
      const behind = await pendingMigrations({
        db,
        folder: MIGRATIONS,
        version: programVersion(),
      });
      if (behind.length > 0) {
        throw new Unusable(
          `the database is behind this program (${behind.join(', ')}): "research-mirror migrate"`,
        );
      }
      return await work({ db, reached });
    } finally {
      await database.close();
    }
  } finally {
    await reached.leave();
  }
}
