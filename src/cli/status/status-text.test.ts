import { describe, expect, it } from 'vitest';
import {
  before,
  sampleAccount,
  sampleCollection,
  sampleReport,
} from '../../../test/support/processes/status-report.ts';
import { describeStatus } from './status-text.ts';

describe('the table of an account', () => {
  it('says when what comes next begins, and of what should have begun that it is due', () => {
    const row = (nextPollAt: string | null, nextFullAt: string | null): string | undefined => {
      const collections = [sampleCollection({ collection: 'lists', nextPollAt, nextFullAt })];
      const text = describeStatus(sampleReport({ accounts: [sampleAccount({ collections })] }), undefined);
      return text.split('\n').find((line) => line.startsWith('lists'));
    };
    expect(row(before(-45), before(-7200))).toMatch(/ in 45 s +in 2 h/);
    expect(row(before(45), null)).toMatch(/ due +–/);
  });
});
