import { describe, expect, it } from 'vitest';
import { sampleActivity } from '../../../test/support/processes/status-report.ts';
import type { ActivityStatus } from '../../model/status/status-report.ts';
import { lastDay, smallSparkline } from './sparklines.ts';

const EMPTY = Array.from<null>({ length: 288 }).fill(null);
const day = (...last: (number | null)[]): (number | null)[] => [...EMPTY, ...last].slice(-288);

async function words(activity: ActivityStatus | null): Promise<string[]> {
  return [...String(await lastDay(activity)).matchAll(/aria-label="([^"]*)"/g)].map(
    ([, label]) => label ?? '',
  );
}

describe('the last day', () => {
  it('says in words what it draws: from, to, now, and for how long nothing is known', async () => {
    expect(await words(sampleActivity())).toEqual([
      'freshness in the last day: 30 s to 2 h old, now 32 s, no data for 2 h',
      'rows in the last day: 53,000 to 54,435, now 54,435, no data for 2 h',
      'changes in the last day: 0 to 22 per 5 min, now 19, 2,799 in all, no data for 2 h',
      'requests in the last day: 30 to 47 per 5 min, now 30, 10,238 in all, no data for 2 h',
    ]);
  });

  it('shows the same words beside each drawing', async () => {
    const text = String(await lastDay(sampleActivity()));
    expect(text).toMatch(
      /<span aria-hidden="true">Requests <small>30 to 47 per 5 min, now 30, 10,238 in all/,
    );
    expect(text.match(/<svg[^>]* role="img"|<svg\s+role="img"/g)).toHaveLength(4);
    expect(text).not.toMatch(/style=|NaN|Infinity|undefined/);
  });

  it('leaves out counts of the minutes that go on, and says no “now” where a while is missing', async () => {
    const [, , changes, requests] = await words(
      sampleActivity({ changes: day(4, 4, 1), requests: day(5, null, null, null, 1) }),
    );
    expect(changes).toBe('changes in the last day: 4 per 5 min, now 4, 8 in all, no data for 23 h');
    expect(requests).toBe('requests in the last day: 5 per 5 min, 5 in all, no data for 23 h');
  });

  it('does not take the minute before the first look at five minutes for a gap', async () => {
    const every = Array.from({ length: 287 }, () => 7);
    const [freshness] = await words(sampleActivity({ ageSeconds: [...every, null] }));
    expect(freshness).toBe('freshness in the last day: 7 s old, now 7 s');
  });

  it('is not there where no daemon mirrored the account; where one has begun, it says when there is an hour of it', async () => {
    expect(await words(null)).toEqual([]);
    const begun = { from: '2026-11-25T12:00:00Z', ageSeconds: EMPTY, liveRows: day(3, 4) };
    const activity = sampleActivity({ ...begun, changes: day(3, 3), requests: day(3, 3) });
    const text = String(await lastDay(activity));
    expect(text).not.toContain('svg');
    for (const said of [
      'Freshness <small>no data yet, drawn from 12:50 UTC on, with an hour of data<',
      'Rows <small>3 to 4, now 4, drawn from 12:50 UTC on, with an hour of data<',
      'Changes <small>3 per 5 min, now 3, 3 in all, drawn from 12:50 UTC on, with an hour of data<',
    ])
      expect(text).toContain(said);
    const hour = day(...Array.from({ length: 12 }, () => 7));
    expect(
      await words(sampleActivity({ ageSeconds: EMPTY, liveRows: hour, changes: hour, requests: hour })),
    ).toEqual([
      'freshness in the last day: no data',
      'rows in the last day: 7, now 7, no data for 23 h',
      'changes in the last day: 7 per 5 min, now 7, 77 in all, no data for 23 h',
      'requests in the last day: 7 per 5 min, now 7, 77 in all, no data for 23 h',
    ]);
  });
});

describe('the small drawing in a line', () => {
  it('shows the worst age of each 20 minutes, and the changes in them', async () => {
    const activity = sampleActivity({
      ageSeconds: day(1, 100, 2, 3, 0, 0, 0, 0),
      changes: day(9, 1, 1, 1, 1, 0, 0, 0, 0, 5),
    });
    const freshness = String(await smallSparkline('freshness', activity));
    expect(freshness).toMatch(/viewBox="0 0 71 40"[\s\S]* d="M70 0l1 40"[\s\S]*>at worst 1 min</);
    const changes = String(await smallSparkline('changes', activity));
    expect(changes).toMatch(/viewBox="0 0 70 40"[\s\S]* d="M68 0[\s\S]*>13</);
  });

  it('is none where nothing is known', async () => {
    expect(String(await smallSparkline('changes', null))).toContain('no data');
    expect(String(await smallSparkline('freshness', sampleActivity({ ageSeconds: EMPTY })))).not.toContain(
      'svg',
    );
  });
});
