import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { envelope, eventOf as read } from '../../test/support/webhooks/signing.ts';
import { Privacy } from '../model/privacy.ts';
import { readEvent } from './read-event.ts';

it('readEvent reads the envelope, and keeps every digit', () => {
  const source =
    '{ "id": "evt_1", "type": "research.failed", "created_at": "2026-01-02T03:04:05Z", "data": { "job_id": 9007199254740993, "n": 1.00 } }';
  expect(read(source)).toEqual({
    id: 'evt_1',
    type: 'research.failed',
    createdAt: '2026-01-02T03:04:05Z',
    dataSource: '{ "job_id": 9007199254740993, "n": 1.00 }',
    rows: [{ collection: 'research_jobs', parent: '', key: '9007199254740993' }],
    source,
  });
});

const UNUSABLE = [undefined, null, '', {}, 'x'.repeat(2000), 'evt\0'];
it.each(UNUSABLE)('readEvent names an event with the id %j by its body’s SHA-256', (id) => {
  const body = envelope('evt_1', { id });
  expect(read(body).id).toBe(createHash('sha256').update(body).digest('hex'));
});

it('readEvent takes a number for an ID, with all its digits', () => {
  expect(read('{"id":12345678901234567890}').id).toBe('12345678901234567890');
});

const CUT = '{"type":"research.completed","data":{"job_id":7}';
const NONE = ['hello', '', '[1]', 'null', '"x"', '{"id":"evt_1"', '{"id":"evt_1"} x', CUT];
it.each(NONE)('readEvent gives nothing for %j: it is not one JSON object', (body) => {
  expect(readEvent(Buffer.from(body))).toBeUndefined();
});

it('readEvent leaves out a type that no column holds', () => {
  for (const type of [7, '', 'a\0', '\ud800', 'x'.repeat(201)])
    expect(read(envelope('evt_1', { type })).type).toBeUndefined();
});

it('readEvent treats null as no data, and keeps any other data', () => {
  expect(read(envelope('evt_1', { data: null })).dataSource).toBeUndefined();
  expect(read(envelope('evt_1', { data: [1] })).dataSource).toBe('[1]');
});

it('readEvent keeps every byte of an object that is not UTF-8', () => {
  const body = Buffer.from('{"id":"evt_1","data":"\xff\xe9"}', 'latin1');
  const event = readEvent(body);
  expect(event?.id).toBe('evt_1');
  expect(Buffer.from(event?.source ?? '', 'latin1')).toEqual(body);
});

it('readEvent drops a byte order mark', () => {
  expect(read('\ufeff{"id":"evt_1"}').id).toBe('evt_1');
});

it('two events without an ID stay two though their difference may not be stored, and their IDs do not reveal it', () => {
  const excludeFields = { account: [], bulk_research_jobs: [], lists: [], list_items: [], watchlist: [] };
  const privacy = new Privacy({ excludeFields: { ...excludeFields, research_jobs: ['**.note'] } });
  const body = (note: string): Buffer => Buffer.from(`{"type":"research.done","data":{"job_id":1,"note":"${note}"}}`);
  const id = (note: string, secret: string): string | undefined => readEvent(body(note), privacy, secret)?.id;
  expect(readEvent(body('a'), privacy, 's')?.source).not.toContain('note');
  expect(id('a', 's')).toBe(id('a', 's'));
  expect(new Set([id('a', 's'), id('b', 's'), id('a', 't'), readEvent(body('a'))?.id]).size).toBe(4);
});
