import { expect, it } from 'vitest';
import { judge } from './judge.ts';

const OF = { number: 1, eventId: 'evt_1', type: 'research.completed', userId: 1001, url: '', at: 0 };
const ATTEMPT = { ...OF, status: 200, attempt: 1, forged: false, duplicate: false, latencyMs: 1 };
const answered = (status: number | null) => ({ ...ATTEMPT, status });
const FORGED = { ...ATTEMPT, eventId: 'evt_2', forged: true };
const ROW = { id: 'evt_1', type: 'research.completed', receivedAt: '' };
const FORGED_ROW = { ...ROW, id: 'evt_2' };

it.each<[string, ...Parameters<typeof judge>, string[]]>([
  ['tried until it was taken, and taken again', [ROW], [null, 503, 200, 200].map(answered), []],
  ['stored, whose answer was lost', [ROW], [answered(null)], []],
  ['not taken yet', [], [answered(null), answered(503)], []],
  ['taken and not stored', [], [ATTEMPT], ['lost']],
  ['true, and refused for good', [], [answered(400)], ['claim']],
  ['stored and never sent', [ROW], [], ['false']],
  ['stored as another', [{ ...ROW, type: 'bulk.failed' }], [ATTEMPT], ['false']],
  ['stored twice', [ROW, ROW], [ATTEMPT], ['twice']],
  ['forged, and refused', [], [{ ...FORGED, status: 400 }], []],
  ['forged, and taken', [], [FORGED], ['false']],
  ['forged, refused and stored', [FORGED_ROW], [{ ...FORGED, status: 400 }], ['false', 'false']],
])('the judge of deliveries judges one that is %s', (_, rows, attempts, kinds) => {
  expect(judge(rows, attempts).map(({ kind }) => kind)).toEqual(kinds);
});
