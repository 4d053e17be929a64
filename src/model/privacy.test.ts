import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { COLLECTION_NAMES } from './collections.ts';
import { type NamedFields, Privacy } from './privacy.ts';

const NONE = Object.fromEntries(COLLECTION_NAMES.map((name) => [name, [] as string[]])) as unknown as NamedFields;
const KEY = 'k'.repeat(32);
const mac = (text: string): string => createHmac('sha256', KEY).update(text).digest('hex');
const privacy = new Privacy({
  excludeFields: { ...NONE, research_jobs: ['notes', '**.secret'], lists: ['owner'] },
  hashFields: { ...NONE, research_jobs: ['**.email'], watchlist: ['email'] },
  hashKey: { reveal: () => KEY },
});
const parsed = (text: string | undefined): unknown => JSON.parse(text ?? '"nothing"');

describe('an item', () => {
  it('loses a field of the top level only there, and one of any depth everywhere, in any spelling', () => {
    const source = String.raw`{"job_id":1,"notes":"a","x":[{"notes":"b","s\u0065cret":{"y":1}}],"secret":[2],"secret":3}`;
    expect(parsed(privacy.item('research_jobs', source))).toEqual({ job_id: 1, x: [{ notes: 'b' }] });
    expect(privacy.item('list_items', source)).toBe(source);
  });

  it('is cut off below the deepest level that is searched', () => {
    const deep = `${'[{"a":'.repeat(2_000)}{"secret":"canary"}${'}]'.repeat(2_000)}`;
    expect(privacy.item('research_jobs', `{"x":${deep}}`)).not.toContain('canary');
  });

  it('has the same hash of the same value in all collections and spellings; null stays null', () => {
    const hashOf = (value: string, name: 'research_jobs' | 'watchlist' = 'research_jobs'): unknown =>
      (parsed(privacy.item(name, `{"email":${value}}`)) as { email: unknown }).email;
    expect(hashOf('"é@x.org"')).toBe(mac('é@x.org'));
    expect(hashOf(String.raw`"\u00e9@x.org"`, 'watchlist')).toBe(mac('é@x.org'));
    expect([hashOf('1e2'), hashOf('100'), hashOf('100.0'), hashOf('0.50')]).toEqual([
      mac('100'),
      mac('100'),
      mac('100'),
      mac('0.5'),
    ]);
    expect(hashOf('{"b":[1],"a":true}')).toBe(mac('{"a":true,"b":[1]}'));
    expect(hashOf('null')).toBeNull();
  });

  it('that is stored is not hashed twice', () => {
    const once = privacy.item('research_jobs', '{"email":"a"}');
    expect(privacy.item('research_jobs', once, true)).toBe(once);
    expect(privacy.item('research_jobs', once)).not.toBe(once);
  });
});

describe('an event', () => {
  const body = '{"id":"e","type":"t","data":{"notes":1,"owner":2,"x":{"email":"m","notes":3}},"owner":4}';

  it('loses fields at any depth, by the collections that it names; without any, by all', () => {
    const of = (...names: ('research_jobs' | 'lists')[]): unknown =>
      parsed(
        privacy.event(
          names.map((collection) => ({ collection })),
          't',
          body,
        ),
      );
    expect(of('research_jobs')).toEqual({
      id: 'e',
      type: 't',
      data: { owner: 2, x: { email: mac('m') } },
      owner: 4,
    });
    expect(of('lists')).toEqual({ id: 'e', type: 't', data: { notes: 1, x: { email: 'm', notes: 3 } } });
    expect(of()).toEqual({ id: 'e', type: 't', data: { x: { email: mac('m') } } });
  });
});

describe('an operation', () => {
  it('keeps of its answer no value of the payload that is not stored, and nothing that is no JSON', () => {
    const payload = '{"company":"Acme","x":{"secret":["canary one"],"email":"canary@two"}}';
    expect(parsed(privacy.payload('research', payload))).toEqual({
      company: 'Acme',
      x: { email: mac('canary@two') },
    });
    const said = '{"detail":"Acme is taken","secret":5}';
    expect(parsed(privacy.answer('research', payload, said))).toEqual({ detail: 'Acme is taken' });
    // As it is, escaped in JSON within JSON, in a URL, in capitals, cut.
    for (const quoted of [
      'canary@two is taken',
      '{\\"of\\":\\"CANARY one\\"}',
      '?m=canary%40two',
      'Canary@t…',
      '\\u0063anary one',
    ])
      expect(privacy.answer('research', payload, `{"job_id":7,"of":{"a":"${quoted}"},"id":"canary one"}`)).toBe(
        '{"job_id":7}',
      );
    const flags = '{"x":{"secret":[true,null,12345],"a@b.example":1,"email":{"c@d.example":2}}}';
    const answered = '{"job_id":12345,"success":true,"note":"a nullable true story"}';
    expect(parsed(privacy.answer('research', flags, answered))).toEqual({ job_id: 12345 });
    expect(parsed(privacy.answer('research', flags.replace('12345', '7'), answered))).toEqual(parsed(answered));
    expect(privacy.answer('research', flags.replace('12345', '7'), '{"note":"of c@d.example"}')).toBe('{}');
    expect(privacy.answer('research', payload, '<p>canary one</p>')).toBeUndefined();
    expect(privacy.answer('bulk_research', '{}', '<p>')).toBeUndefined();
    expect(new Privacy({ excludeFields: NONE }).answer('list', payload, said)).toBe(said);
  });
});
