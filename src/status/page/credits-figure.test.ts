import { expect, it } from 'vitest';
import { sampleAccount } from '../../../test/support/processes/status-report.ts';
import type { AccountStatus } from '../../model/status/status-report.ts';
import { creditsFigure } from './credits-figure.ts';

const account = (userId: string, left: string, burntLastDay: string | null): AccountStatus =>
  sampleAccount({ userId, credits: { left, burntLastDay } });

it('shows the account whose credits end first, and when at the pace of the last day', () => {
  expect(creditsFigure([sampleAccount({ credits: null })])).toBeUndefined();
  expect(creditsFigure([account('1', '1234.50', '50')])).toEqual({
    figure: '1,234.5',
    more: '50 burnt in the last 24 h: 24 d left',
  });
  expect(creditsFigure([account('1', '1000', '1'), account('2', '5000', '6000')])).toEqual({
    figure: '5,000',
    more: '6,000 burnt in the last 24 h: less than a day left (account 2, the first to run out)',
  });
  expect(creditsFigure([account('1', '7', '0')])?.more).toBe('none burnt in the last 24 h');
  expect(creditsFigure([account('1', '7', null)])?.more).toMatch(/^what a day takes is not known/);
});
