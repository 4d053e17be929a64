import { describe, expect, it } from 'vitest';
import {
  AT,
  before,
  sampleAccount,
  sampleCollection,
} from '../../../test/support/processes/status-report.ts';
import type { AccountStatus, CollectionStatus } from '../../model/status/status-report.ts';
import { createSchedule } from '../accounts/next-runs.ts';
import { nextReading } from './collect-status.ts';

const NOW = new Date(AT);
/** Each minute a poll, each day a full walk. */
const LINES = { poll: '* * * * *', full: '0 3 * * *' };
const schedule = createSchedule({
  cron: { research_jobs: LINES, lists: LINES, list_items: LINES, watchlist: LINES },
} as never);
const line = schedule.after('42', 'research_jobs', NOW);
const LINE_POLL = line.nextPollAt?.toISOString() ?? '';
const LINE_FULL = line.nextFullAt?.toISOString() ?? '';

function next(
  collections: readonly Partial<CollectionStatus>[],
  account: Partial<AccountStatus> = {},
): ReturnType<typeof nextReading> {
  const all = collections.map((each) =>
    sampleCollection({ collection: 'research_jobs', nextPollAt: null, nextFullAt: null, ...each }),
  );
  return nextReading(sampleAccount({ walks: [], collections: all, ...account }), schedule, NOW);
}

describe('what is read next', () => {
  it('is the earliest run, and that of a cron line says so', () => {
    expect(next([{ nextPollAt: LINE_POLL, nextFullAt: LINE_FULL }])).toEqual({
      what: 'poll of research_jobs',
      at: LINE_POLL,
      because: 'its cron line polls it then',
    });
    expect(next([{ nextFullAt: LINE_FULL }])).toMatchObject({
      what: 'full walk of research_jobs',
      because: 'its cron line reads all of it then, to find deletions',
    });
  });

  it('says of a run that no line asks for why it comes', () => {
    expect(next([{ nextPollAt: before(-2.5) }])?.because).toBe(
      'it changes often enough for a poll before its cron line’s',
    );
    expect(next([{ nextFullAt: before(3) }])?.because).toBe(
      'all of it is to be read again before its cron line does',
    );
  });

  it('is a due poll, however late a full walk is', () => {
    expect(next([{ nextPollAt: before(1), nextFullAt: before(500) }])?.what).toBe('poll of research_jobs');
  });

  it('is nothing that is being read, paused or of an account that nobody reads', () => {
    const due = { nextPollAt: before(1) };
    const walks = sampleAccount().walks.map((walk) => ({ ...walk, collection: 'research_jobs' as const }));
    expect(next([{ nextFullAt: before(1) }], { walks })).toBeNull();
    expect(next([{ ...due, state: 'paused' }])).toBeNull();
    expect(next([due], { owner: null })).toBeNull();
    expect(next([due], { state: 'stopped' })).toBeNull();
  });
});
