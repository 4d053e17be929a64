import { describe, expect, it } from 'vitest';
import { MalformedAnswer } from '../../model/errors.ts';
import { readRegistered, readWebhook } from './read-webhook.ts';

const ok = (text: string): { status: number; text: string } => ({ status: 200, text });

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
    expect(readWebhook({ status, text })).toBe('none');
  });

  it.each([
    '{"object":"webhook","url":"https://a.example/x","active":true,"event_types":["list.failed"]}',
    '{"data":{"url":"https://a.example/x","active":true,"event_types":["list.failed"]}}',
    '{"object":"list","data":[{"url":"https://a.example/x","active":true,"event_types":["list.failed"]}]}',
    '{"webhook":{"url":"https://a.example/x","active":true,"event_types":["list.failed"]}}',
    '{"webhooks":[{"url":"https://a.example/x","active":true,"event_types":["list.failed"]}]}',
    '{"items":[{"url":"https://a.example/x","active":true,"event_types":["list.failed"]}]}',
    '{"results":[{"url":"https://a.example/x","active":true,"event_types":["list.failed"]}]}',
  ])('is found in %s', (text) => {
    expect(readWebhook(ok(text))).toMatchObject({
      url: 'https://a.example/x',
      active: true,
      eventTypes: ['list.failed'],
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
    expect(() => readWebhook({ status, text })).toThrow(MalformedAnswer);
  });

  it('may tell of an error in its deliveries', () => {
    const seen = readWebhook(ok('{"url":"https://a.example/x","error":{"code":"timeout"}}'));
    expect(seen).toMatchObject({ url: 'https://a.example/x' });
  });

  it('keeps unknown fields and every digit of the object', () => {
    const seen = readWebhook(ok('{"data":{"url":"https://a.example","id":9007199254740993}}'));
    expect(seen).toMatchObject({ active: null, eventTypes: null });
    const odd = readWebhook(ok('{"url":"https://a.example","active":1,"event_types":["list.failed",7]}'));
    expect(odd).toMatchObject({ active: null, eventTypes: null });
    expect(seen === 'none' ? '' : seen.source).toContain('9007199254740993');
  });

  it.each([
    '',
    '<html>',
    '{"url":',
    '"text"',
    '7',
    '{"error":{"code":"boom"}}',
    '{"errors":["boom"]}',
    '{"object":"error"}',
  ])('is refused in %j, and the message quotes nothing', (text) => {
    expect(() => readWebhook(ok(text))).toThrow(/^the body is /);
  });
});

describe('the answer to a registration', () => {
  it('gives the secret, and the object without it', () => {
    const { secret, seen } = readRegistered(
      ok('{"object":"webhook","url":"https://a.example","secret":"5ec4e7","signing_secret":"other","n":1}'),
    );
    expect(secret).toBe('5ec4e7');
    expect(JSON.parse(seen?.source ?? '')).toEqual({ object: 'webhook', url: 'https://a.example', n: 1 });
  });

  it('loses nothing else where a secret goes by another name', () => {
    const { seen } = readRegistered(ok('{"url":"https://a.example","Client_Secret":"5ec4e7","n":1}'));
    expect(JSON.parse(seen?.source ?? '')).toEqual({ url: 'https://a.example', n: 1 });
  });

  it('lets no second copy of the secret pass', () => {
    const { seen } = readRegistered(
      ok('{"url":"https://a.example","active":true,"secret":"5ec4e7","curl":"-H 5ec4e7"}'),
    );
    expect(seen?.source).toBe('{"active":true}');
  });

  it('lets no secret pass that stands deeper', () => {
    const texts = ['{"signing":{"Client_Secret":"x"}}', String.raw`{"signing":[{"s\u0065cret":"x"}]}`];
    for (const text of texts) {
      const { seen } = readRegistered(ok(`{"url":"https://a.example","active":true,${text.slice(1)}`));
      expect(seen).toMatchObject({ url: 'https://a.example', source: '{"active":true}' });
    }
    const harmless = readRegistered(
      ok(String.raw`{"url":"https://a.example/secret","note":"a \"secret\":"}`),
    );
    expect(harmless.seen?.source).toContain('note');
  });

  it('may hold a secret without a URL, and no secret', () => {
    expect(readRegistered(ok('{"secret":"5ec4e7"}'))).toEqual({ secret: '5ec4e7', seen: undefined });
    for (const secret of ['null', '""', '7']) {
      expect(readRegistered(ok(`{"url":"https://a.example","secret":${secret}}`)).secret).toBeUndefined();
    }
  });

  it('is no answer where it holds no webhook', () => {
    for (const text of ['{"ok":true}', '[]', '[["https://a.example"]]']) {
      expect(() => readRegistered(ok(text))).toThrow('holds no webhook');
    }
  });
});
