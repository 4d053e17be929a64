import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MalformedAnswer } from '../model/errors.ts';
import { stateOf } from '../model/page.ts';
import { readObject, readPage, refuseFalseEnd, servedBy } from './envelope.ts';

const page = (text: string) => readPage(text, 'job_id', 'bigint');
const keys = (text: string, type: 'bigint' | 'text' = 'bigint') =>
  readPage(text, 'job_id', type).items.map((item) => item.key);

const CONTRADICTION = 'it contradicts itself';
const MORE = '{"data":[],"has_more":true}';

describe('readPage', () => {
  it('reads the envelope of the specification', () => {
    const sources = ['{"job_id":9,"status":"completed"}', '{"job_id":8}'];
    const items = sources.map((source, nth) => {
      return { source, state: 'finished', key: ['9', '8'][nth], problem: undefined };
    });
    const read = page(`{"object":"list","data":[${sources.join()}],"has_more":true}`);
    expect(read).toEqual({ items, hasMore: true, nextCursor: undefined });
  });

  const TWO = '[{"job_id":3},{"job_id":2}]';
  it.each([
    [`{"list_id":7,"accounts":{"data":${TWO},"has_more":true}}`, ['3', '2'], true],
    [`{"list_id":7,"accounts":{"items":${TWO},"has_more":true}}`, ['3', '2'], true],
    [`{"accounts":${TWO},"tags":["a"],"has_more":true}`, ['3', '2'], true],
    [`{"other":{"rows":[{}]},"accounts":{"data":${TWO},"extra":[{}],"has_more":true}}`, ['3', '2'], true],
    [`{"data":{"items":${TWO},"has_more":true}}`, ['3', '2'], true],
    ['{"accounts":{"data":[],"has_more":false}}', [], false],
    [`{"object":"list","accounts":{"data":${TWO}},"meta":{"version":1}}`, ['3', '2'], undefined],
  ])('finds the one list beside a has_more, where there is no data: %s', (text, found, hasMore) => {
    expect(keys(text)).toEqual(found);
    expect(page(text).hasMore).toBe(hasMore);
  });

  it.each([
    ['', 'the body is empty'],
    [' \n', 'the body is empty'],
    ['<!doctype html><title>Sign in</title>', 'the body is HTML'],
    ['{"data":[{"job_id":1}', 'the body is JSON that ends early (21 characters)'],
    ['{"data":[{"job_id":"a', 'the body is JSON that ends early (21 characters)'],
    ['oops', 'the body is not JSON'],
    ['{"data":[]}{"data":[]}', 'the body is not JSON'],
    ['null', 'the body is null, not an object'],
    ['[]', 'the body is an array, not an object'],
    ['"x"', 'the body is a string, not an object'],
    ['{}', 'it has neither a data array nor a list next to a has_more'],
    ['{"data":null,"has_more":false}', 'it has neither a data array nor a list next to a has_more'],
    ['{"accounts":[{"id":1}]}', 'it has neither a data array nor a list next to a has_more'],
    ['{"accounts":{"data":[{"id":1}]}}', 'it has neither a data array nor a list next to a has_more'],
    ['{"data":[{"job_id":1},7],"has_more":false}', 'item 1 is a number, not an object'],
    ['{"data":[null]}', 'item 0 is null, not an object'],
    ['{"data":[[]]}', 'item 0 is an array, not an object'],
    ['{"a":[{}],"b":[{}],"has_more":true}', 'it has several lists (a, b)'],
    [`{"a":${MORE},"b":${MORE}}`, 'it has several lists (a.data, b.data)'],
    ['{"error":{"code":"x","message":"Try later"}}', 'the body is an error: Try later (x)'],
    ['{"object":"list","data":[],"has_more":false,"error":"down"}', 'the body is an error: down'],
    ['{"object":"error","message":"down","data":[]}', 'the body is an error: down'],
    ['{"success":false,"data":[]}', 'the body is an error: without a message'],
  ])('takes %j for no page: %s', (text, reason) => {
    expect(() => page(text)).toThrow(new MalformedAnswer(reason));
  });

  it.each(['null', 'false', '0', '-0.0', '""', '" "', '[]', '{}'])(
    'is not put off by an error field that is %s: it says there is none',
    (none) => {
      expect(keys(`{"data":[{"job_id":1}],"error":${none},"success":true}`)).toEqual(['1']);
      expect(keys(`{"data":[{"job_id":1}],"errors":${none}}`)).toEqual(['1']);
      // One that says nothing does not hide the other.
      expect(() => page(`{"data":[{"job_id":1}],"error":${none},"errors":["down"]}`)).toThrow(
        'the body is an error: down',
      );
    },
  );

  it.each(['1', 'true', '"0"', '[null]', '{"code":0}'])('takes an error field that is %s for one', (error) => {
    expect(() => page(`{"data":[{"job_id":1}],"error":${error}}`)).toThrow(MalformedAnswer);
  });

  it('keeps every digit of an ID, and the item of an unusable one', () => {
    const most = ['9007199254740993', '9223372036854775807'];
    expect(keys(`{"data":[{"job_id":${most[0]}},{"job_id":"${most[1]}"}]}`)).toEqual(most);
    const texts = ['123456789012345678901234567890', 'é'];
    expect(keys(`{"data":[{"job_id":${texts[0]}},{"job_id":"é"}]}`, 'text')).toEqual(texts);
    const problems = page('{"data":[{},{"job_id":null},{"job_id":1.5},{"job_id":"x"},{"job_id":{}}]}').items;
    expect(problems.filter(({ key }) => key !== undefined)).toEqual([]);
    expect(problems.map((item) => item.problem)).toEqual([
      'has no cursor ID',
      'has a cursor ID that is null',
      'has a cursor ID that is not a 64-bit integer',
      'has a cursor ID that is not a 64-bit integer',
      'has a cursor ID that is object',
    ]);
  });

  it('reads has_more and next_cursor where they are what they should be', () => {
    const meta = (rest: string) => {
      const { hasMore, nextCursor } = page(`{"data":[]${rest}}`);
      return [hasMore, nextCursor];
    };
    expect(meta('')).toEqual([undefined, undefined]);
    expect(meta(',"has_more":null,"next_cursor":null')).toEqual([undefined, null]);
    expect(meta(',"has_more":"true","next_cursor":""')).toEqual([undefined, null]);
    expect(meta(',"next_cursor":{}')).toEqual([undefined, undefined]);
    expect(meta(',"has_more":false,"next_cursor":"abc="')).toEqual([false, 'abc=']);
    expect(meta(',"next_cursor":12')).toEqual([undefined, '12']);
    expect(meta(',"next_cursor":9007199254740993')).toEqual([undefined, '9007199254740993']);
    // No request could carry these, and no checkpoint hold them: they say that something follows, no more.
    for (const cursor of ['\\u0000', 'a\\u0000b', '\\ud800x', 'x\\udc00']) {
      expect(meta(`,"next_cursor":"${cursor}"`)).toEqual([true, undefined]);
      expect(meta(`,"has_more":false,"next_cursor":"${cursor}"`)).toEqual([false, undefined]);
    }
    expect(meta(String.raw`,"next_cursor":"\ud83d\ude00"`)).toEqual([undefined, '😀']);
    const nested = '{"accounts":{"data":[],"has_more":true,"next_cursor":9007199254740993}}';
    expect(page(nested).nextCursor).toBe('9007199254740993');
  });

  it('takes the last of duplicate fields of an item, in values and in source texts alike', () => {
    expect(keys('{"data":[{"job_id":2,"job_id":3}]}')).toEqual(['3']);
  });

  it.each([
    ['"data":[],"data":[]', 'the name "data" occurs twice in an object'],
    [String.raw`"data":[],"d\u0061ta":[]`, 'the name "data" occurs twice in an object'],
    ['"data":[],"has_more":true,"has_more":true', 'the name "has_more" occurs twice in an object'],
    ['"data":[],"Data":[{"job_id":1}]', `${CONTRADICTION}: "Data" occurs twice in different spellings`],
    ['"data":[],"has_more":false,"hasMore":true', `${CONTRADICTION}: "hasMore" occurs twice in different spellings`],
    ['"a":{"data":[],"has_more":false},"has_more":true', `${CONTRADICTION}: "has_more" is both true and false`],
    ['"object":"account","data":[]', 'its "object" is "account", not "list"'],
    ['"object":7,"data":[]', 'its "object" is 7, not "list"'],
    ['"a":{"object":"ping","data":[],"has_more":true}', 'its "object" is "ping", not "list"'],
    ['"a":{"data":[],"has_more":false,"error":"down"}', 'the body is an error: down'],
    ['"data":[],"meta":{"errors":["shard 3"]}', 'the body is an error: shard 3'],
    ['"data":[],"partial":true', 'it says that it is partial: "partial" is true'],
    ['"data":[],"isTruncated":"yes"', 'it says that it is partial: "isTruncated" is "yes"'],
    ['"data":[],"incomplete_results":1', 'it says that it is partial: "incomplete_results" is 1'],
    ['"data":[],"pagination":{"truncated":true}', 'it says that it is partial: "truncated" is true'],
    ['"a":{"data":[],"has_more":false},"timed_out":true', 'it says that it is partial: "timed_out" is true'],
    ['"data":[],"complete":false', 'it says that it is partial: "complete" is false'],
    ['"data":[],"status":"partial"', 'it says that it is partial: "status" is "partial"'],
    ['"data":[],"status":503', 'it says that it is partial: "status" is 503'],
    ['"data":[],"statusCode":206', 'it says that it is partial: "statusCode" is 206'],
  ])('takes an answer for no page that says so itself: %s', (inside, reason) => {
    expect(() => page(`{${inside}}`)).toThrow(new MalformedAnswer(reason));
  });

  it.each([
    '"object":"List","data":[{"job_id":1}]',
    '"object":null,"data":[{"job_id":1}],"has_more":false',
    '"object":"company_list","accounts":{"object":"list","data":[{"job_id":1}],"has_more":false}',
    '"data":[{"job_id":1}],"partial":false,"truncated":null,"incomplete_results":"false","complete":true',
    '"data":[{"job_id":1}],"status":"ok","statusCode":200,"meta":{"status":"success","partial":[]}',
    // A list with its items in it: these are about the list.
    '"list_id":7,"status":"failed","complete":false,"data":[{"job_id":1}]',
    // What these count or say is not known.
    '"data":[{"job_id":1}],"has_more":false,"total":5,"count":0,"warnings":["deprecated"]',
    '"data":[{"job_id":1}],"url":"a","URL":"b","data_":[{"job_id":1}],"other":{"a":1,"a":2,"partial":true}',
  ])('is not put off by what says nothing of that: %s', (inside) => {
    expect(keys(`{${inside}}`)).toEqual(['1']);
  });

  it('takes has_more of the object around the one that has the array, where that has none', () => {
    const read = (more: string) => page(`{"object":"list","a":{"data":[]}${more}}`).hasMore;
    expect([read(''), read(',"has_more":true'), read(',"has_more":false')]).toEqual([undefined, true, false]);
  });

  it('gives each item the source text that parses to its fields', () => {
    fc.assert(
      fc.property(
        fc.array(fc.dictionary(fc.string(), fc.jsonValue())),
        fc.option(fc.boolean(), { nil: undefined }),
        fc.constantFrom(undefined, 1, '\t'),
        (items, has_more, gap) => {
          const read = page(JSON.stringify({ object: 'list', has_more, data: items }, null, gap));
          expect(read.hasMore).toBe(has_more);
          expect(read.items.map((item) => JSON.parse(item.source) as unknown)).toEqual(
            JSON.parse(JSON.stringify(items)),
          );
          expect(read.items.map(({ state }) => state)).toEqual(items.map(stateOf));
        },
      ),
    );
  });

  it('never takes a part of an answer for a page, wherever it breaks off', () => {
    const whole = '{"object":"list","has_more":false,"data":[{"job_id":2,"a":[{}]},{"job_id":1}]}';
    fc.assert(
      fc.property(fc.nat(whole.length - 1), (length) => {
        expect(() => page(whole.slice(0, length))).toThrow(MalformedAnswer);
      }),
    );
  });

  it('answers anything at all with a page or a MalformedAnswer', () => {
    const field = fc.constantFrom('data', 'has_more', 'error', 'accounts', 'next_cursor', 'job_id', 'x');
    const { body } = fc.letrec<{ body: unknown }>((tie) => ({
      body: fc.oneof(
        { maxDepth: 4, depthSize: 'small' },
        fc.constantFrom(null, true, false, 0, -0, 1e300, 'x', ''),
        fc.array(tie('body'), { maxLength: 3 }),
        fc.dictionary(field, tie('body'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(body, (value) => {
        try {
          expect(Array.isArray(page(JSON.stringify(value)).items)).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedAnswer);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('refuseFalseEnd', () => {
  const empty =
    (more: string, headers = {}) =>
    () =>
      refuseFalseEnd(`{"object":"list","data":[]${more}}`, headers);

  it.each([
    [empty(',"total":9'), '"total" is 9'],
    [empty(',"totalCount":"9"'), '"totalCount" is "9"'],
    [empty(',"meta":{"total_items":9}'), '"total_items" is 9'],
    [empty(',"count":9'), '"count" is 9'],
    [empty('', { 'x-total-count': '9' }), '"X-Total-Count" is "9"'],
    [empty('', { 'content-range': 'items 0-0/9' }), '"Content-Range" is "9"'],
    [() => refuseFalseEnd('{"a":{"data":[],"has_more":false,"total":9}}', {}), '"total" is 9'],
  ])('refuses an end without an item where a total is above 0: %#', (read, why) => {
    expect(read).toThrow(new MalformedAnswer(`${CONTRADICTION}: it has no item, but ${why}`));
  });

  it('refuses one with a cursor to go on with', () => {
    expect(empty(',"next_cursor":"x"')).toThrow(`${CONTRADICTION}: it has no item, but a next_cursor`);
    expect(empty(',"next_cursor":null')).not.toThrow();
  });

  it('takes what is 0, no number, or counts something else for no contradiction', () => {
    const more = ',"total":0,"count":null,"total_count":"many","total_pages":1,"limit":500,"meta":{"total":-1}';
    expect(empty(more, { 'x-total-count': '0', 'content-range': 'items */*' })).not.toThrow();
  });
});

describe('readObject', () => {
  it('gives the object and its own text', () => {
    const text = '{"object":"ping","status":"ok","user_id":9007199254740993}';
    expect(readObject(text)).toEqual({ source: text, fields: JSON.parse(text) as unknown });
  });

  it('refuses a name that occurs twice, and an error in disguise', () => {
    const twice = new MalformedAnswer('the name "user_id" occurs twice in an object');
    expect(() => readObject('{"user_id":1,"credits":2,"user_id":3}')).toThrow(twice);
    expect(() => readObject('{"error":{"message":"no"}}')).toThrow('the body is an error: no');
  });
});

const DATE = 'Sun, 01 Mar 2026 00:00:00 GMT';

describe('what an answer says of caches on the way', () => {
  it.each([
    [{}, undefined, 0],
    [{ date: DATE }, Date.UTC(2026, 2, 1), 0],
    [{ date: 'today', age: 'old' }, undefined, 0],
    [{ date: [DATE], age: ['30'] }, Date.UTC(2026, 2, 1), 30_000],
    [{ age: '0' }, undefined, 0],
    // Two caches, of which each added its own.
    [{ age: '12, 5' }, undefined, 12_000],
    [{ age: '0, 7' }, undefined, 7_000],
    [{ age: ['0', '7'] }, undefined, 7_000],
    [{ age: '99999999999999' }, undefined, 2 ** 31 * 1_000],
    [{ age: '-5' }, undefined, 0],
  ])('%j', (headers, date, ageMs) => {
    expect(servedBy(headers)).toEqual({ date, ageMs });
  });
});
