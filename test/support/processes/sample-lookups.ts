import type { RowStory } from '../../../src/status/lookup-store.ts';
import type { Lookups } from '../../../src/status/lookup-routes.ts';
import { AT, before } from './status-report.ts';

/** Lookups that find nothing; tests change what they are about. */
export function sampleLookups(changes: Partial<Lookups> = {}): Lookups {
  return {
    search: async () => ({ at: AT, found: [], more: false }),
    row: async () => undefined,
    rows: async () => ({ at: AT, found: [], next: undefined }),
    ...changes,
  };
}

/** A job's story from its submission on. */
export function sampleStory(changes: Partial<RowStory> = {}): RowStory {
  const entry = { by: null, more: null, fields: [] };
  const submission = {
    ...entry,
    by: 'submission 5',
    more: { operation: 'research', state: 'accepted', response_status: 202, idempotency_key: 'order-5' },
  };
  return {
    at: AT,
    state: 'live',
    timeline: [
      { ...entry, at: before(-60), what: 'next_poll', by: 'daemon' },
      {
        ...entry,
        at: before(60),
        what: 'changed',
        by: 'poll 4',
        fields: [
          { field: 'status', before: '"queued"', after: '"completed"' },
          { field: 'summary', before: null, after: `"${'long '.repeat(400)}… (12345 characters)` },
        ],
      },
      { ...entry, at: before(61), what: 'event', by: 'event evt_1', more: { type: 'research.completed' } },
      { ...entry, at: before(110), what: 'mirrored', by: 'poll 3' },
      { ...submission, at: before(118), what: 'answered' },
      { ...submission, at: before(119), what: 'sent' },
      { ...submission, at: before(120), what: 'queued' },
    ],
    more: false,
    columns: [
      { name: 'job_id', value: '17' },
      { name: 'status', value: 'completed' },
      { name: '_user_id', value: '42' },
    ],
    raw: '{\n    "job_id": 17\n}',
    ...changes,
  };
}
