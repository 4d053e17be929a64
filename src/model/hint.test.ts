import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { COLLECTION_NAMES } from './collections.ts';
import { type HintedRow, rowsOfAnswer, rowsOfEvent } from './hint.ts';

const row = (collection: HintedRow['collection'], key: string, parent = ''): HintedRow => ({
  collection,
  parent,
  key,
});
/** An event of a list is about its row and about its items. */
const list = (id: string): HintedRow[] => [row('lists', id), row('list_items', '', id)];

describe('rows that an event names', () => {
  test('each documented type names the row of its collection', () => {
    const data = '{"job_id": 7, "document_id": 8, "company_url": "https://example.com"}';
    expect(rowsOfEvent('research.completed', data)).toEqual([row('research_jobs', '7')]);
    expect(rowsOfEvent('research.failed', data)).toEqual([row('research_jobs', '7')]);
    expect(rowsOfEvent('bulk.completed', '{"bulk_job_id":7}')).toEqual([row('bulk_research_jobs', '7')]);
    expect(rowsOfEvent('bulk.failed', '{"id":7}')).toEqual([row('bulk_research_jobs', '7')]);
    expect(rowsOfEvent('list.analyzed', '{"list_id":7,"id":1}')).toEqual(list('7'));
    expect(rowsOfEvent('list.failed', '{"id":"7"}')).toEqual(list('7'));
    expect(rowsOfEvent('watchlist.change_detected', '{"id":"wl_7"}')).toEqual([row('watchlist', 'wl_7')]);
    expect(rowsOfEvent('watchlist.change_detected', '{"id":7}')).toEqual([row('watchlist', '7')]);
  });

  test('a type of a known family that is not documented names its row too', () => {
    expect(rowsOfEvent('research.cancelled', '{"job_id":7}')).toEqual([row('research_jobs', '7')]);
  });

  test('a known type that names no row makes its scope due as a whole', () => {
    for (const data of [undefined, '{}', 'null', '[]', '7', '{"id":7}', '{"job_id":null}', '{"job_id":{}}']) {
      expect(rowsOfEvent('research.completed', data)).toEqual([row('research_jobs', '')]);
    }
    expect(rowsOfEvent('watchlist.change_detected', '{"id":true}')).toEqual([row('watchlist', '')]);
    expect(rowsOfEvent('list.analyzed', '{"id":"none"}')).toEqual([row('lists', '')]);
  });

  test('of an unknown type whatever it names is taken, and nothing of one that names nothing', () => {
    expect(rowsOfEvent('score.moved', '{"list_id":1,"job_id":2,"bulk_job_id":3,"id":4}')).toEqual([
      row('research_jobs', '2'),
      row('bulk_research_jobs', '3'),
      ...list('1'),
    ]);
    for (const type of [undefined, '', 'research', 'researching.done', 'constructor.x']) {
      expect(rowsOfEvent(type, '{"id":7}')).toEqual([]);
      expect(rowsOfEvent(type, '{"job_id":7}')).toEqual([row('research_jobs', '7')]);
    }
  });

  test('no digit of an ID is lost, and an ID that no row can have names none', () => {
    expect(rowsOfEvent('research.completed', '{"job_id":9223372036854775807}')).toEqual([
      row('research_jobs', '9223372036854775807'),
    ]);
    expect(rowsOfEvent('research.completed', '{"job_id":9223372036854775808}')).toEqual([
      row('research_jobs', ''),
    ]);
  });
});

describe('rows that an answer names', () => {
  test('at its top and one level down, no deeper', () => {
    expect(rowsOfAnswer('{"job_id":9007199254740993,"status":"queued"}')).toEqual([
      row('research_jobs', '9007199254740993'),
    ]);
    expect(rowsOfAnswer('{"data":{"list_id":"5"},"result":{"bulk_job_id":6}}')).toEqual([
      ...list('5'),
      row('bulk_research_jobs', '6'),
    ]);
    expect(rowsOfAnswer('{"data":{"inner":{"job_id":7}}}')).toEqual([]);
  });

  test('a row that is named twice is hinted once', () => {
    expect(rowsOfAnswer('{"job_id":7,"job":{"job_id":"7"}}')).toEqual([row('research_jobs', '7')]);
  });

  test('an answer that is no JSON object names nothing', () => {
    for (const body of ['', 'accepted', 'null', '7', '"job_id"', '[{"job_id":7}]', '{"job_id":7', '{}']) {
      expect(rowsOfAnswer(body)).toEqual([]);
    }
  });
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
