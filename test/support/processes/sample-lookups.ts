import type { RowAddress } from '../../../src/model/lookup/row-address.ts';
import type { RowStory } from '../../../src/model/lookup/row-story.ts';
import type { FoundRow } from '../../../src/model/lookup/search-answer.ts';
import type { Lookups } from '../../../src/status/lookup/lookups.ts';
import { AT, before } from './status-report.ts';

/** Lookups that find nothing; tests change what they are about. */
export function sampleLookups(changes: Partial<Lookups> = {}): Lookups {
  return {
    search: async (query) => ({ query, at: AT, results: [], more: false }),
    row: async () => undefined,
    ...changes,
  };
}

export function sampleFound(changes: Partial<FoundRow> = {}): FoundRow {
  return {
    kind: 'row',
    by: 'id',
    userId: '42',
    collection: 'research_jobs',
    key: ['17'],
    name: 'Acme',
    status: 'completed',
    domain: 'acme.example',
    changedAt: before(60),
    deletedAt: null,
    ...changes,
  };
}

/** A job's story from its submission on. */
export function sampleStory(address: RowAddress, changes: Partial<RowStory> = {}): RowStory {
  const cut = (text: string, characters = text.length) => ({ text, characters });
  const submission = {
    submissionId: '5',
    operation: 'research',
    idempotencyKey: 'order-5',
    state: 'accepted',
    responseStatus: 202,
  };
  return {
    ...address,
    at: AT,
    state: 'live',
    deletedAt: null,
    timeline: [
      {
        at: before(60),
        what: 'changed',
        changeId: '9',
        fields: [
          { field: 'status', before: cut('"queued"'), after: cut('"completed"') },
          { field: 'summary', before: null, after: cut(`"${'long '.repeat(400)}`, 12_345) },
        ],
      },
      { at: before(61), what: 'event', eventId: 'evt_1', type: 'research.completed', createdAt: before(62) },
      { at: before(110), what: 'mirrored', walkId: '3', walk: 'poll' },
      { at: before(118), what: 'answered', ...submission },
      { at: before(119), what: 'sent', ...submission },
      { at: before(120), what: 'queued', ...submission },
    ],
    more: false,
    columns: [
      { name: 'job_id', type: 'bigint', value: cut('17') },
      { name: 'status', type: 'text', value: cut('completed') },
      { name: '_user_id', type: 'bigint', value: cut('42') },
    ],
    raw: cut('{\n    "job_id": 17\n}'),
    ...changes,
  };
}
