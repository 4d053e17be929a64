import { expect, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import { runDistribute } from '../../../src/operate/distribute.ts';
import { inOwnDatabase } from '../../support/databases/migrated-database.ts';
import { OPERATOR } from '../../support/mirror/operator.ts';

it('distribute refuses a database that a newer program has migrated, before it looks for Citus', () =>
  inOwnDatabase(async ({ db }) => {
    await db.sql`insert into ${db.stateTable('migration')} values ('9999_later', 'x', '2026-01-01Z', '0.2.0')`;
    const context = {
      db,
      clock: systemClock,
      signal: new AbortController().signal,
      onStep: () => {},
      by: OPERATOR,
    };
    await expect(runDistribute(context, { dryRun: false, shards: undefined })).rejects.toThrow(
      /newer than this program, .* does not know the tables of 9999_later; nothing was touched\. Run distribute with the newest/,
    );
  }));
