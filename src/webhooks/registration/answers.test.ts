import { describe, expect, it } from 'vitest';
import { MalformedAnswer } from '../../model/errors.ts';
import { outcomeOf, readWebhook } from './answers.ts';

const seenIn = (text: string, status = 200) => readWebhook({ status, text });
/** What a registration that was answered so has brought. */
function registeredIn(text: string) {
  const outcome = outcomeOf({ status: 200, text, words: '' });
  if (outcome.kind !== 'accepted') throw new Error(outcome.why);
  return outcome;
}

const HOOK = '{"url":"https://a.example/x","active":true,"event_types":["list.failed"]}';

describe('what is registered', () => {
  it.each([
    [200, 'null'],
    [200, '{}'],
    [200, '[]'],
    [200, '{"object":"list","data":[],"has_more":false}'],
    [200, '{"data":null}'],
    [200, '{"error":null,"errors":null}'],
    [200, '{"error":false,"data":[]}'],
    [200, '{"object":"webhook","url":null}'],
    [200, '{"object":"webhook","url":"","active":false}'],
    [200, '{"object":"webhook","url":"  "}'],
    [204, ''],
    [404, '{"error":{"code":"not_found"}}'],
    [404, ''],
  ])('is nothing: %i %s', (status, text) => {
    expect(seenIn(text, status)).toBe('none');
  });

  it.each([
    `{"object":"webhook",${HOOK.slice(1)}`,
    `{"data":${HOOK}}`,
    `{"object":"list","data":[${HOOK}]}`,
    `{"webhook":${HOOK}}`,
    `{"webhooks":[${HOOK}]}`,
    `{"items":[${HOOK}]}`,
    `{"results":[${HOOK}]}`,
    `{"error":{"code":"timeout"},${HOOK.slice(1)}`,
  ])('is found in %s', (text) => {
    expect(seenIn(text)).toMatchObject({
      url: 'https://a.example/x',
      active: true,
    });
  });

  it.each([
    [206, '{}'],
    [202, 'null'],
    [203, '{"url":"https://a.example/x"}'],
    [200, '{"url":"https://a.example/x","url":null}'],
    [200, '{"data":{"url":"https://a.example/x"},"data":null}'],
    [200, '{"data":{"url":"https://a.example/x","url":""}}'],
  ])('is not known from %i %s: what was overlooked would be replaced', (status, text) => {
    expect(() => seenIn(text, status)).toThrow(MalformedAnswer);
  });

  it('keeps unknown fields and every digit of the object', () => {
    const seen = seenIn('{"data":{"url":"https://a.example","id":9007199254740993}}');
    expect(seen).toMatchObject({ active: null });
    const odd = seenIn('{"url":"https://a.example","active":1,"event_types":["list.failed",7]}');
    expect(odd).toMatchObject({ active: null });
    expect(seen === 'none' ? '' : seen.source).toContain('9007199254740993');
  });

  const BROKEN = ['', '<html>', '{"url":', '"text"', '7'];
  const ERRORS = ['{"error":{"code":"boom"}}', '{"errors":["boom"]}', '{"object":"error"}'];
  it.each([...BROKEN, ...ERRORS])('is refused in %j, and the message quotes nothing', (text) => {
    expect(() => seenIn(text)).toThrow(/^the body is /);
  });
});

describe('the answer to a registration', () => {
  it.each([
    ['"secret":"5ec4e7","signing_secret":"other","n":1', '{"url":"https://a.example","n":1}'],
    ['"Client_Secret":"5ec4e7","n":1', '{"url":"https://a.example","n":1}'],
    // No second copy passes, nor one that stands deeper: nothing but whether it is active is kept.
    ['"active":true,"secret":"5ec4e7","curl":"-H 5ec4e7"', '{"active":true}'],
    ['"active":true,"signing":{"Client_Secret":"x"}', '{"active":true}'],
    [String.raw`"active":true,"signing":[{"s\u0065cret":"x"}]`, '{"active":true}'],
    [String.raw`"note":"a \"secret\":"`, String.raw`{"url":"https://a.example","note":"a \"secret\":"}`],
  ])('of %s keeps all but its secrets', (fields, source) => {
    const { seen } = registeredIn(`{"url":"https://a.example",${fields}}`);
    expect(seen?.url).toBe('https://a.example');
    expect(JSON.parse(seen?.source ?? '')).toEqual(JSON.parse(source));
  });

  it.each([
    ['"5ec4e7"', '5ec4e7'],
    ['null', undefined],
    ['""', undefined],
    ['7', undefined],
  ])('with the secret %s gives %s', (spelled, secret) => {
    expect(registeredIn(`{"url":"https://a.example","secret":${spelled}}`).secret).toBe(secret);
  });

  it('may hold a secret without a URL', () => {
    expect(registeredIn('{"secret":"5ec4e7"}')).toMatchObject({ secret: '5ec4e7', seen: undefined });
  });

  it.each(['{"ok":true}', '[]', '[["https://a.example"]]'])('is no answer where it is %s', (text) => {
    expect(() => registeredIn(text)).toThrow('holds no webhook');
  });
});

it.each([
  [200, '{"url":"https://a.example","secret":"secret"}', 'accepted'],
  [201, '{"secret":"secret"}', 'accepted'],
  [200, '{"url":"https://a.example"}', 'accepted'],
  [200, '<html>secret</html>', 'lost'],
  [204, '', 'lost'],
  [400, 'no', 'refused'],
  [401, 'no', 'refused'],
  [402, 'no', 'refused'],
  [404, 'no', 'refused'],
  [405, 'no', 'refused'],
  [422, 'no', 'refused'],
  [302, '', 'refused'],
  [429, 'no', 'undone'],
  [408, 'no', 'lost'],
  [425, 'no', 'lost'],
  [500, 'no', 'lost'],
  [503, '', 'lost'],
])('the answer to a registration %i %j means: %s', (status, text, kind) => {
  expect(outcomeOf({ status, text, words: text }).kind).toBe(kind);
});

it('the answer to a registration is explained in the service’s words', () => {
  expect(outcomeOf({ status: 402, text: '', words: 'no credits' })).toMatchObject({
    why: 'it was answered 402: no credits',
  });
  expect(outcomeOf({ status: 503, text: '', words: '' })).toMatchObject({
    why: 'it was answered 503',
  });
});
