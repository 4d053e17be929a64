import { describe, expect, it } from 'vitest';
import {
  before,
  AT,
  sampleAccount,
  sampleCollection,
  sampleWebhook,
} from '../../../test/support/processes/status-report.ts';
import type { AccountStatus, CollectionStatus } from '../../model/status/status-report.ts';
import { createSchedule } from '../accounts/next-runs.ts';
import { whatIsNext } from './what-is-next.ts';

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
): ReturnType<typeof whatIsNext> {
  const quiet = { webhook: sampleWebhook({ hintsWaiting: 0, hintsDue: 0 }), walks: [] };
  const all = collections.map((each) =>
    sampleCollection({
      collection: 'research_jobs',
      nextPollAt: null,
      nextFullAt: null,
      dueLists: 0,
      ...each,
    }),
  );
  return whatIsNext(sampleAccount({ ...quiet, collections: all, ...account }), schedule, NOW);
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

  it('is what events named, before all that is scheduled', () => {
    const webhook = sampleWebhook({ hintsWaiting: 2_000, hintsDue: 1_200 });
    expect(next([{ nextPollAt: before(30) }], { webhook })).toEqual({
      what: 'rows that events or answers named',
      at: null,
      because: 'they come before what is scheduled (waiting: 1,200)',
    });
  });

  it('is none of the rows that events named and that rest until they are read again', () => {
    const webhook = sampleWebhook({ hintsWaiting: 3, hintsDue: 0 });
    expect(next([{ nextPollAt: LINE_POLL }], { webhook })?.what).toBe('poll of research_jobs');
    const items = { collection: 'list_items', dueLists: 4 } as const;
    expect(next([items], { webhook })?.what).toBe('lists that are new or have changed');
    expect(next([{}], { webhook })).toBeNull();
  });

  it('is a poll that is due before a full walk that is later still; what is not due comes by its moment', () => {
    const walk = { collection: 'lists', nextFullAt: before(900) } as const;
    const late = { nextPollAt: before(30) };
    const later = { collection: 'watchlist', nextPollAt: before(60) } as const;
    expect(next([walk, late])?.what).toBe('poll of research_jobs');
    expect(next([walk, late, later])?.what).toBe('poll of watchlist');
    expect(next([walk, { nextPollAt: before(-30) }])?.what).toBe('full walk of lists');
    const soon = { collection: 'lists', nextFullAt: before(-20) } as const;
    expect(next([{ nextPollAt: before(-30) }, soon])?.what).toBe('full walk of lists');
  });

  it('is the lists that are due, unless a run is', () => {
    const items = { collection: 'list_items', dueLists: 4 } as const;
    expect(next([{ nextPollAt: LINE_POLL }, items])).toMatchObject({
      what: 'lists that are new or have changed',
      at: null,
      because: 'their items have not been read since (waiting: 4)',
    });
    expect(next([{ nextPollAt: before(1) }, items])?.what).toBe('poll of research_jobs');
  });

  it('leaves out what is being read, and what is paused', () => {
    const due = { nextPollAt: before(9), nextFullAt: before(5) };
    const walk = { ...sampleAccount().walks[0], collection: 'research_jobs', listId: null } as const;
    const polling = [{ ...walk, kind: 'poll' }] as AccountStatus['walks'];
    expect(next([due], { walks: polling })?.what).toBe('full walk of research_jobs');
    const other = { collection: 'lists', nextPollAt: LINE_POLL } as const;
    expect(next([{ ...due, state: 'paused' }, other])?.what).toBe('poll of lists');
  });

  it('is nothing where nobody reads the account', () => {
    const due = [{ nextPollAt: before(9) }];
    expect(next(due, { owner: null })).toBeNull();
    expect(next(due, { state: 'stopped' })).toBeNull();
    expect(next([{ ...due[0], state: 'paused' }])).toBeNull();
    expect(next([{}])).toBeNull();
  });
});
