import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openHistory } from '../../../../src/mirror/history.ts';
import { runs } from '../../../support/effort.ts';
import { lines } from '../../../support/mirror/lines.ts';
import { deleteAllBut } from '../../../support/mirror/deleting.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

/**
 * Whatever happens to the rows, the mirror as of every moment at which it changed is the mirror as it was then, in
 * all columns, and just before it what it was before, compared with a replay in memory.
 */

const newAccount = testAccounts({ gracePeriodMs: 0 });

const id = fc.nat({ max: 5 });
const row = fc.record(
  { id, n: fc.nat({ max: 2 }), extra: fc.constantFrom('a', 'b', 'c') },
  { requiredKeys: ['id', 'n'] },
);
/** A page with rows that are new, changed, the same, or back from deletion; or IDs to delete by two proofs. */
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ rows: fc.uniqueArray(row, { selector: (each) => each.id, minLength: 1 }) }),
  },
  { weight: 1, arbitrary: fc.record({ gone: fc.uniqueArray(id, { minLength: 1 }) }) },
);

/** An item; `extra` names a field of this run's own, so that its column is new. */
const itemOf = (run: number, { id, n, extra }: { id: number; n: number; extra?: string }): Record<string, unknown> => ({
  job_id: id,
  n,
  ...(extra === undefined ? {} : { [`x${run}_${extra}`]: n }),
});

it.each(['soft', 'hard'] as const)(
  'the mirror as of any moment equals the mirror at that moment: MIRROR_DELETES=%s',
  async (deletes) => {
    const steps = fc.array(step, { minLength: 2, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const account = await newAccount({ deletes });
        const run = Number(account.fence.userId);
        await openHistory(account.database.db, account.fence, ['research_jobs'], true);
        const live = new Map<number, Record<string, unknown>>();
        /** Moment of a change (the last one of several) to the rows after it. */
        const states = new Map<string, Record<string, unknown>[]>();
        for (const each of all) {
          if ('rows' in each) {
            const items = each.rows.map((item) => itemOf(run, item));
            for (const item of items) live.set(Number(item['job_id']), item);
            await account.page('research_jobs', JSON.stringify(items));
          } else {
            for (const gone of each.gone) live.delete(gone);
            await deleteAllBut(account, 'research_jobs', JSON.stringify([...live.values()]), {
              accept: true,
            });
          }
          const moments = `select coalesce(max(at)::text, '') as at from (
            select _changed_at as at from mirror.research_jobs where _user_id = ${run}
            union all select _valid_to from mirror.research_jobs_history where _user_id = ${run}) as moments`;
          const [latest = ''] = await lines(account, moments);
          if (latest !== '') states.set(latest, [...live.values()]);
        }
        const added = await lines(
          account,
          `select attname from pg_attribute
          where attrelid = 'mirror.research_jobs'::regclass and attname like 'x${run}\\_%'`,
        );
        const columns = ['job_id', 'n', ...added];
        const plain = (item: Record<string, unknown>) =>
          Object.fromEntries(columns.map((name) => [name, name in item ? String(item[name]) : null]));
        /** The mirror as of a moment, and what it was then. */
        const compare = async (at: string, rows: readonly Record<string, unknown>[]): Promise<void> => {
          const known = await account.query<{ _raw: unknown; _deleted_at: unknown }>(`
            select ${columns.join()}, _raw, _deleted_at from mirror.research_jobs_as_of(${at}) where _user_id = ${run} order by job_id`);
          const wanted = rows.toSorted((a, b) => Number(a['job_id']) - Number(b['job_id']));
          expect({ at, rows: known }).toEqual({
            at,
            rows: wanted.map((item) => ({ ...plain(item), _raw: item, _deleted_at: null })),
          });
        };
        let before: Record<string, unknown>[] | undefined;
        for (const [at, rows] of states) {
          if (before !== undefined) await compare(`timestamptz '${at}' - interval '1 microsecond'`, before);
          await compare(`'${at}'`, rows);
          before = rows;
        }
        const doubled = await account.query(`
          select job_id, _change_id from mirror.research_jobs_versions where _user_id = ${run}
          group by 1, 2 having count(*) > 1`);
        expect(doubled).toEqual([]);
      }),
      { numRuns: runs(5, 25), endOnFailure: true },
    );
  },
);
