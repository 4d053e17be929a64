import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';
import { runs } from '../../../support/effort.ts';

// Contents come back at once here: no page counts as stale.
const newAccount = testAccounts({ gracePeriodMs: 0 });

const VALUES = String.raw`1 2 "a" "b\u0000" null [1] {"x":{"y":1}} 9007199254740993 true`.split(' ');

/** An item as text: few keys, few contents, in several spellings, some of them hostile. */
const item = fc
  .record({
    key: fc.integer({ min: 1, max: 12 }),
    value: fc.constantFrom(...VALUES),
    status: fc.constantFrom('"open"', '"failed"', '"completed"', 'null', '5'),
    swapped: fc.boolean(),
    bad: fc.constantFrom('', '', '', '', '', ',"n":1e200000'),
  })
  .map(({ key, value, status, swapped, bad }) =>
    swapped
      ? `{"value":${value}${bad},"status":${status},"job_id":${key}}`
      : `{"job_id":${key}, "status":${status} ,"value": ${value}${bad}}`,
  );
const page = fc.array(item, { maxLength: 12 });
const keyOf = (each: string): string => String((JSON.parse(each) as { job_id: number }).job_id);

/** What `_raw` has of an item, as a text that is equal for equal items. */
function normal(text: string): string {
  const parsed = JSON.parse(text.replaceAll('9007199254740993', '"9007199254740993"')) as object;
  const fields = Object.entries(parsed).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(fields).replaceAll('\\u0000', '\ufffd');
}

interface StoredRow {
  readonly job_id: string;
  readonly status: string | null;
  readonly _change_id: string;
  readonly _raw: string;
}

it('after any sequence of pages the table has the last observation of each key, and change IDs rise without repetition', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(page, { maxLength: 6 }), async (pages) => {
      const account = await newAccount();
      const last = new Map<string, string>();
      let greatest = 0n;
      for (const items of pages) {
        const text = `[${items.join()}]`;
        const before = new Map((await stored(account)).map((row) => [row.job_id, row._change_id]));
        const result = await account.page('research_jobs', text);
        const expected = new Map(last);
        for (const [key, each] of new Map(items.map((each) => [keyOf(each), each]))) {
          if (!each.includes('1e200000')) expected.set(key, each);
        }

        const rows = await stored(account);
        expect(new Map(rows.map((row) => [row.job_id, normal(row._raw)]))).toEqual(
          new Map([...expected].map(([key, each]) => [key, normal(each)])),
        );
        for (const row of rows) {
          const status = (JSON.parse(expected.get(row.job_id) ?? '{}') as { status: unknown }).status;
          expect(row.status).toBe(typeof status === 'string' ? status : null);
          const [was, is] = [last.get(row.job_id), expected.get(row.job_id) ?? '{}'];
          if (was !== undefined && normal(was) === normal(is)) {
            expect(row._change_id).toBe(before.get(row.job_id));
          } else expect(BigInt(row._change_id)).toBeGreaterThan(greatest);
        }
        expect(new Set(rows.map((row) => row._change_id)).size).toBe(rows.length);
        for (const row of rows) if (BigInt(row._change_id) > greatest) greatest = BigInt(row._change_id);
        expect(result).toMatchObject({ state: 'applied' });
        if (result.state === 'applied') {
          expect(Object.values(result.counts).reduce((a, b) => a + b, 0)).toBe(items.length);
          expect(result.changed === undefined ? greatest : BigInt(result.changed.changeId)).toBe(greatest);
        }
        for (const [key, each] of expected) last.set(key, each);
      }
      const [live = '0'] = await account.rowsOf('live_rows', 'mirror.freshness');
      expect(Number(live)).toBe(last.size);
      const warm = [...last].filter(([, each]) => /"status": ?("open"|"failed"|5)/.test(each));
      const unfinished = await account.rowsOf('key', 'mirror_sync.unsettled');
      expect(new Set(unfinished)).toEqual(new Set(warm.map(([key]) => key)));
    }),
    { numRuns: runs(12, 60) },
  );
});

function stored(account: MirroredAccount): Promise<StoredRow[]> {
  return account.query<StoredRow>(`select job_id, status, _change_id, _raw::text as _raw
     from mirror.research_jobs where _user_id = ${account.fence.userId} order by job_id`);
}
