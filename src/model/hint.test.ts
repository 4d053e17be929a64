import fc from 'fast-check';
import { expect, test } from 'vitest';
import { COLLECTION_NAMES } from './collections.ts';
import { rowsOfAnswer, rowsOfEvent, type HintedRow } from './hint.ts';

const names = (rows: readonly HintedRow[]): string =>
  rows.map(({ collection, parent, key }) => [collection, parent, key].join('/')).join(' ');
/** An event of a list is about its row and about its items. */
const LIST_7 = 'lists//7 list_items/7/';
const ALL_JOBS = 'research_jobs//';
const JOB_7 = 'research_jobs//7';
const BEYOND = '9223372036854775808';
const ALL_THREE = `${JOB_7} bulk_research_jobs//3 ${LIST_7}`;

type Event = [type: string | undefined, data: string | undefined, rows: string];

test.each<Event>([
  ['research.completed', '{"job_id": 7, "document_id": 8, "company_url": "https://example.com"}', JOB_7],
  ['research.failed', '{"job_id": 7}', JOB_7],
  ['bulk.completed', '{"bulk_job_id":7}', 'bulk_research_jobs//7'],
  ['bulk.failed', '{"id":7}', 'bulk_research_jobs//7'],
  ['list.analyzed', '{"list_id":7,"id":1}', LIST_7],
  ['list.failed', '{"id":"7"}', LIST_7],
  ['watchlist.change_detected', '{"id":"wl_7"}', 'watchlist//wl_7'],
  ['watchlist.change_detected', '{"id":7}', 'watchlist//7'],
  // An undocumented type of a known family.
  ['research.cancelled', '{"job_id":7}', JOB_7],
  ['research.completed', '{"job_id":9223372036854775807}', 'research_jobs//9223372036854775807'],
  // An event without a usable row makes its whole scope due.
  ...[undefined, '{}', 'null', '[]', '7', '{"id":7}', '{"job_id":null}', '{"job_id":{}}'].map((data): Event => [
    'research.completed',
    data,
    ALL_JOBS,
  ]),
  ['research.completed', `{"job_id":${BEYOND}}`, ALL_JOBS],
  ['watchlist.change_detected', '{"id":true}', 'watchlist//'],
  ['list.analyzed', '{"id":"none"}', 'lists//'],
  // An unknown type: all rows that it names.
  ['score.moved', '{"list_id":7,"job_id":7,"bulk_job_id":3,"id":4}', ALL_THREE],
  ...[undefined, '', 'research', 'researching.done', 'constructor.x'].flatMap((type): Event[] => [
    [type, '{"id":7}', ''],
    [type, '{"job_id":7}', JOB_7],
  ]),
])('an event of the type %s with %s names %s', (type, data, rows) => {
  expect(names(rowsOfEvent(type, data))).toBe(rows);
});

test.each<[string, string]>([
  ['{"job_id":9007199254740993,"status":"queued"}', 'research_jobs//9007199254740993'],
  ['{"data":{"list_id":"7"},"result":{"bulk_job_id":6}}', `${LIST_7} bulk_research_jobs//6`],
  // One level down, and no deeper; a row that is named twice is hinted once.
  ['{"data":{"inner":{"job_id":7}}}', ''],
  ['{"job_id":7,"job":{"job_id":"7"}}', JOB_7],
  ...['', 'accepted', 'null', '7', '"job_id"', '[{"job_id":7}]', '{"job_id":7', '{}'].map((body): [string, string] => [
    body,
    '',
  ]),
])('the answer %j names %s', (body, rows) => {
  expect(names(rowsOfAnswer(body))).toBe(rows);
});

test('whatever is delivered or answered, what it names is a row or a scope that can be', () => {
  const fields = fc.dictionary(
    fc.constantFrom('id', 'job_id', 'bulk_job_id', 'list_id', 'data', '__proto__'),
    fc.jsonValue(),
  );
  const json = fc.oneof(
    fc.json(),
    fields.map((each) => JSON.stringify(each)),
  );
  const type = fc.oneof(
    fc.constantFrom('research.x', 'bulk.x', 'list.x', 'watchlist.x', 'other.x', undefined),
    fc.string(),
  );
  fc.assert(
    fc.property(type, json, fc.string(), (type, json, text) => {
      for (const each of [...rowsOfEvent(type, json), ...rowsOfAnswer(json), ...rowsOfAnswer(text)]) {
        expect(COLLECTION_NAMES).toContain(each.collection);
        const items = each.collection === 'list_items';
        expect(items ? each.parent : `${each.parent}1`).toMatch(/^-?\d+$/);
        expect(items ? each.key : '').toBe('');
        if (!items && each.collection !== 'watchlist') expect(each.key).toMatch(/^(-?\d+)?$/);
      }
    }),
  );
});
