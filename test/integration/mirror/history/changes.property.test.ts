import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openHistory } from '../../../../src/mirror/history.ts';
import { runs } from '../../../support/effort.ts';
import { deleteAllBut } from '../../../support/mirror/deleting.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

/**
 * Whatever happens to the rows, mirror.changes has each change once, read whole at the end, and a reader of the
 * watermark sees each of them; compared with what a memory of the items would tell. The stories of the rows have the
 * same changes.
 */

const newAccount = testAccounts({ gracePeriodMs: 0 });

/** A job's fields, name to JSON text: the same value may be written in two ways. */
type Fields = Readonly<Record<string, string>>;

const id = fc.nat({ max: 5 });
const value = fc.constantFrom('1', '1.0', '1.00', 'null', '"a"', '{"b":[1,null]}', 'true');
const fields: fc.Arbitrary<Fields> = fc.dictionary(fc.constantFrom('n', 'm', 'status', ''), value, {
  noNullPrototype: true,
});
const jobs = fc.uniqueArray(fc.record({ id, fields }), { selector: (job) => job.id, minLength: 1 });
/** A page, or IDs to delete. */
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ jobs }) },
  { weight: 1, arbitrary: fc.record({ gone: fc.uniqueArray(id, { minLength: 1 }) }) },
);

interface Change {
  readonly key: string;
  readonly op: string;
  readonly field: string | null;
  readonly before: string | null;
  readonly after: string | null;
}

/** What a page or a deletion changes, by each job's known fields and whether it is live. */
class Memory {
  readonly #known = new Map<number, { fields: Fields; live: boolean }>();

  page(id: number, fields: Fields): Change[] {
    const before = this.#known.get(id);
    this.#known.set(id, { fields, live: true });
    if (before === undefined) return [change(id, 'insert')];
    if (!before.live) return [change(id, 'undelete')];
    return [...new Set([...Object.keys(before.fields), ...Object.keys(fields)])]
      .filter((field) => before.fields[field] !== fields[field])
      .map((field) => change(id, 'update', field, before.fields[field] ?? null, fields[field] ?? null));
  }

  delete(id: number): Change[] {
    const before = this.#known.get(id);
    if (before?.live !== true) return [];
    before.live = false;
    return [change(id, 'delete')];
  }

  live(): { id: number; fields: Fields }[] {
    return [...this.#known].flatMap(([id, { fields, live }]) => (live ? [{ id, fields }] : []));
  }
}

const change = (
  id: number,
  op: string,
  field: string | null = null,
  before: string | null = null,
  after: string | null = null,
): Change => ({ key: String(id), op, field, before, after });

const itemOf = ({ id, fields }: { id: number; fields: Fields }): string =>
  `{"job_id":${id}${Object.entries(fields)
    .map(([name, text]) => `,${JSON.stringify(name)}:${text}`)
    .join('')}}`;

const sorted = (changes: readonly Change[]): string[] =>
  changes.map((each) => JSON.stringify([each.key, each.op, each.field, each.before, each.after])).toSorted();

/** Differences between each row's row_story and `changes`. */
const differences = (user: number): string => {
  const stories = `
    select k.key, s.at, s.what, s.field, s.before, s.after from (
      select distinct key from mirror.changes where _user_id = ${user} and collection = 'research_jobs') k
    cross join lateral mirror.row_story(${user}, 'research_jobs', k.key) s
    where s.what in ('mirrored', 'changed', 'deleted', 'undeleted')`;
  const changes = `
    select key, changed_at, case op when 'insert' then 'mirrored' when 'update' then 'changed' else op || 'd' end,
      field, before, after
    from mirror.changes where _user_id = ${user} and collection = 'research_jobs'`;
  return `(${stories} except all ${changes}) union all (${changes} except all ${stories})`;
};

it.each(['soft', 'hard'] as const)(
  'lists each change once, and to a reader of the watermark: MIRROR_DELETES=%s',
  async (deletes) => {
    const steps = fc.array(step, { minLength: 2, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const account = await newAccount({ deletes });
        const user = Number(account.fence.userId);
        await openHistory(account.database.db, account.fence, ['research_jobs'], true);
        const memory = new Memory();
        const expected: Change[] = [];
        const seen = new Map<string, Change>();
        let mark = '0';
        const read = (after: string) =>
          account.query<Change & { at: string; change_id: string }>(`
            select key, op, field, replace(before::text, ' ', '') as before, replace(after::text, ' ', '') as after,
              changed_at::text as at, change_id::text
            from mirror.changes where _user_id = ${user} and collection = 'research_jobs' and change_id > ${after}
            order by change_id`);
        for (const each of all) {
          if ('jobs' in each) {
            for (const { id, fields } of each.jobs) expected.push(...memory.page(id, fields));
            await account.page('research_jobs', `[${each.jobs.map(itemOf).join()}]`);
          } else {
            for (const gone of each.gone) expected.push(...memory.delete(gone));
            const left = `[${memory.live().map(itemOf).join()}]`;
            await deleteAllBut(account, 'research_jobs', left, { accept: true });
          }
          for (const row of await read(mark)) {
            const { key, op, field, at } = row;
            seen.set(JSON.stringify([key, op, field, at]), row);
            mark = row.change_id;
          }
        }
        expect(sorted(await read('0'))).toEqual(sorted(expected));
        expect(sorted([...seen.values()])).toEqual(sorted(expected));
        expect(await account.query(differences(user))).toEqual([]);
      }),
      { numRuns: runs(10, 60), endOnFailure: true },
    );
  },
);
