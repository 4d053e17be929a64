import { expect, it } from 'vitest';
import { type Effect, judge, type SubmissionRow, type Told } from './judge.ts';

const row = (state: string, responseStatus = state === 'accepted' ? 201 : null): SubmissionRow[] => [
  { id: '1', marker: 'm1', state, requestId: 'key-1', responseStatus },
];
const effects = (count: number, idempotencyKey = 'key-1'): Effect[] =>
  Array.from({ length: count }, () => ({ marker: 'm1', idempotencyKey }));

it.each<[string, SubmissionRow[], Effect[], string[], Partial<Told>?]>([
  ['accepted, with its effect', row('accepted'), effects(1), []],
  ['rejected', row('rejected'), [], []],
  ['unknown, without effect', row('unknown'), [], []],
  ['unknown, with one', row('unknown'), effects(1), []],
  ['cancelled', row('cancelled'), [], []],
  ['accepted without effect', row('accepted'), [], ['false']],
  ['rejected with one', row('rejected'), effects(1), ['false']],
  ['cancelled with one', row('cancelled'), effects(1), ['false']],
  ['accepted with two', row('accepted'), effects(2), ['twice']],
  ['unknown with two', row('unknown'), effects(2), ['twice']],
  ['rejected with two', row('rejected'), effects(2), ['twice']],
  ['never ended', row('queued'), [], ['lost']],
  ['never ended, sending', row('sending'), [], ['lost']],
  ['without a row', [], [], ['lost'], { queued: new Map([['1', 'm1']]) }],
  ['cancelled as it was told, and sent', row('accepted'), effects(1), ['false'], { cancelled: new Set(['1']) }],
  ['rolled back, and sent', [], effects(1), ['false'], { rolledBack: new Set(['m1']) }],
  ['never queued, and sent', [], effects(1), ['false']],
  ['sent under another key', row('accepted'), effects(1, 'another'), ['claim']],
  ['accepted without a 2xx', row('accepted', 500), effects(1), ['claim']],
])('the judge of submissions judges one: %s', (_, rows, done, kinds, told = {}) => {
  const nothing = { queued: new Map(), cancelled: new Set<string>(), rolledBack: new Set<string>() };
  expect(judge(rows, done, { ...nothing, ...told }).map(({ kind }) => kind)).toEqual(kinds);
});
