import { describe, expect, it } from 'vitest';
import { judgeRecovery } from './judge-recovery.ts';

const RECOVERY = { at: '2026-01-01T00:00:00.000Z', reason: 'the database went back: a standby took over' };

describe('a database that went back', () => {
  it('is a problem until what it may have lost is read again, then a note', () => {
    expect(judgeRecovery({ ...RECOVERY, open: true })).toEqual({
      problems: [expect.stringMatching(/a standby took over; .*full walks, which are due/) as string],
      notes: [],
    });
    expect(judgeRecovery({ ...RECOVERY, open: false })).toEqual({
      problems: [],
      notes: [expect.stringMatching(/it was read again since/) as string],
    });
    expect(judgeRecovery(null)).toEqual({ problems: [], notes: [] });
  });
});
