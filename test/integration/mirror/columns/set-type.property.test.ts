import fc from 'fast-check';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { COLUMN_TYPES } from '../../../../src/mirror/columns.ts';
import { createMigratedDatabase } from '../../../support/databases/migrated-database.ts';
import { runs } from '../../../support/effort.ts';
import { lines } from '../../../support/mirror/lines.ts';
import { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { setType } from '../../../support/mirror/setting-type.ts';

/** JSON texts; undefined: the item does not have the field. */
const value = fc.oneof(
  {
    arbitrary: fc.constantFrom('1', '1.0', '1.00', '1e2', '-0', '99999999999999999999', '0.1', '7'),
    weight: 4,
  },
  {
    arbitrary: fc.constantFrom(
      ...['2026-01-02T03:04:05.123456+02:00', '2026-02-30', '1', '', '\0x'].map((text) => JSON.stringify(text)),
    ),
    weight: 4,
  },
  fc.string().map((text) => JSON.stringify(text.toWellFormed())),
  fc.double({ noDefaultInfinity: true, noNaN: true }).map((number) => JSON.stringify(number)),
  fc.constantFrom('true', 'false', 'null', '{}', '[1,"a"]', '{"a":1.50}'),
  fc.constant(undefined),
);
const pages = fc.array(fc.array(value, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 });

async function written(
  field: string,
  made: readonly (readonly (string | undefined)[])[],
  types: readonly string[] | { readonly from: string },
): Promise<unknown> {
  const own = await createMigratedDatabase();
  try {
    const account = await MirroredAccount.make(own, '42');
    if ('from' in types) {
      await sql`insert into mirror._columns (collection, field, type, documented, first_seen_at)
        values ('research_jobs', ${field}, ${types.from}, false, now())`.execute(own.kysely);
    }
    for (const [turn, page] of made.entries()) {
      const items = page.map(
        (each, index) => `{"job_id":${index},"turn":${turn}${each === undefined ? '' : `,"${field}":${each}`}}`,
      );
      await account.page('research_jobs', `[${items.join()}]`);
    }
    const counted = () => lines(account, `select type, conflicts from mirror.columns where column_name = '${field}'`);
    let [now] = (await counted()).map((row) => row.split(' ')[0]);
    // Only nulls: there is no column.
    if (now === undefined) return undefined;
    for (const type of 'from' in types ? [] : types) {
      if (type !== now) await setType(own.db, `research_jobs.${field}`, type);
      now = type;
    }
    const rows = await account.query(`select job_id, turn, _change_id, ${field}::text as value from mirror.research_jobs
       union all select job_id, turn, _change_id, ${field}::text from mirror.research_jobs_history order by 3`);
    const changes = await account.query(
      'select key, field, before, after, change_id, op from mirror.changes order by change_id, key, field',
    );
    return { rows, counted: await counted(), changes };
  } finally {
    await own.drop();
  }
}

it('after any changes of its type rows, versions and counts equal those of a mirror that always had the last type', async () => {
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('score', 'seen_at', 'ref_id'),
      pages,
      fc.array(fc.constantFrom(...COLUMN_TYPES), { minLength: 1, maxLength: 2 }),
      async (field, made, types) => {
        const result = await written(field, made, types);
        if (result === undefined) return;
        compared += 1;
        expect(result).toEqual(await written(field, made, { from: types.at(-1) ?? 'text' }));
      },
    ),
    { numRuns: runs(5, 40) },
  );
  expect(compared).toBeGreaterThan(0);
});
