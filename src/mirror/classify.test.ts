import { expect, it } from 'vitest';
import type { Item } from '../model/page.ts';
import { changedRows, contentHash, contentRule, outcomesOf, sortPage } from './page-record.ts';

const EVERY_FIELD = contentRule([], []);

const item = (key: string | undefined, source = `{"id":"${key}"}`): Item => ({
  source,
  state: 'finished',
  key,
  problem: key === undefined ? 'has no cursor ID' : undefined,
});

it('a page’s items are sorted by key, the last one of duplicates counting, bad ones aside', () => {
  const page = sortPage([item('a'), item('b'), item(undefined), item('a', '{"id":"a","n":2}')], EVERY_FIELD);
  expect(page.keyed.map(({ index, key }) => [index, key])).toEqual([
    [1, 'b'],
    [3, 'a'],
  ]);
  expect(page.duplicates).toEqual([0]);
  expect(page.bad.map(({ index, reason }) => [index, reason])).toEqual([[2, 'has no cursor ID']]);
});

it('a page’s items whose last occurrence is refused are not replaced by an earlier one', () => {
  const page = sortPage([item('a'), item('a', '{"bad":1}'), item('b')], EVERY_FIELD);
  const refused = page.keyed
    .filter(({ key }) => key === 'a')
    .map((row) => ({ index: row.index, item: row.item, reason: 'is refused by Postgres' }));
  expect(outcomesOf(3, page, [], [], refused, [])).toEqual(['duplicate', 'quarantined', 'unchanged']);
});

it('a page’s items differ from the stored rows by hash, absence or deletion', () => {
  const { keyed } = sortPage(
    ['new', 'same', 'other', 'gone'].map((key) => item(key)),
    EVERY_FIELD,
  );
  const stored = new Map([
    ['same', { hash: contentHash('{ "id" : "same" }', EVERY_FIELD), deletedAt: undefined }],
    ['other', { hash: '00', deletedAt: undefined }],
    ['gone', { hash: contentHash('{"id":"gone"}', EVERY_FIELD), deletedAt: new Date(0) }],
  ]);
  const changed = changedRows(keyed, stored);
  expect(changed.map(({ key, change }) => [key, change])).toEqual([
    ['new', 'inserted'],
    ['other', 'updated'],
    ['gone', 'undeleted'],
  ]);
  const [inserted, ...others] = changed;
  const outcomes = outcomesOf(
    4,
    { keyed, duplicates: [], bad: [] },
    inserted === undefined ? [] : [inserted],
    others,
    [],
    [],
  );
  expect(outcomes).toEqual(['inserted', 'unchanged', 'deferred', 'deferred']);
});
