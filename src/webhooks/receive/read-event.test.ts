import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { envelope, eventOf as read } from '../../../test/support/webhooks/signing.ts';
import { readEvent } from './read-event.ts';

function sha256(body: string | Buffer): string {
  return createHash('sha256').update(body).digest('hex');
}

describe('readEvent', () => {
  it('reads the envelope, and keeps every digit', () => {
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

  it.each([
    ['no id', { id: undefined }],
    ['an id that is null', { id: null }],
    ['an empty id', { id: '' }],
    ['an id that is an object', { id: {} }],
    ['an id of absurd length', { id: 'x'.repeat(2000) }],
    ['an id with U+0000', { id: 'evt\0' }],
  ])('names an event with %s by its body’s SHA-256', (_, fields) => {
    const body = envelope('evt_1', fields);
    expect(read(body).id).toBe(sha256(body));
  });

  it('takes a number for an ID, with all its digits', () => {
    expect(read('{"id":12345678901234567890}').id).toBe('12345678901234567890');
  });

  it.each([
    'hello',
    '',
    '[1]',
    'null',
    '"x"',
    '{"id":"evt_1"',
    '{"id":"evt_1"} x',
    '{"type":"research.completed","data":{"job_id":7}',
  ])('takes %j for none: it is not one JSON object', (body) => {
    expect(readEvent(Buffer.from(body))).toBeUndefined();
  });

  it('leaves out a type that no column holds', () => {
    for (const type of [7, '', 'a\0', '\ud800', 'x'.repeat(201)]) {
      expect(read(envelope('evt_1', { type })).type).toBeUndefined();
    }
  });

  it('takes data that is null for none, and any other for data', () => {
    expect(read(envelope('evt_1', { data: null })).dataSource).toBeUndefined();
    expect(read(envelope('evt_1', { data: [1] })).dataSource).toBe('[1]');
  });

  it('keeps every byte of an object that is no UTF-8', () => {
    const body = Buffer.concat([
      Buffer.from('{"id":"evt_1","data":"'),
      Buffer.from([0xff, 0xe9]),
      Buffer.from('"}'),
    ]);
    const event = readEvent(body);
    expect(event?.id).toBe('evt_1');
    expect(Buffer.from(event?.source ?? '', 'latin1')).toEqual(body);
  });

  it('drops a byte order mark', () => {
    expect(read('\ufeff{"id":"evt_1"}').id).toBe('evt_1');
  });
});
