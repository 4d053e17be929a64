import { describe, expect, it } from 'vitest';
import { sampleAccount, sampleWebhook } from '../../../test/support/processes/status-report.ts';
import { NO_SUBMISSIONS, NO_WEBHOOK } from '../../db/status/stored-webhooks-and-submissions.ts';
import { submissionsLine, webhookLine } from './webhook-and-submissions-text.ts';

const age = (at: string | null): string => (at === null ? 'never' : '45 s ago');

describe('the line of a webhook', () => {
  it('says where it is registered, what came last, and what waits', () => {
    expect(webhookLine(sampleWebhook(), age)).toBe(
      'webhook: registered at mirror.example.com; last event 45 s ago; 2 to be read again',
    );
  });

  it('says that there is none, that it is another’s, or that it works no more', () => {
    expect(webhookLine(NO_WEBHOOK, age)).toBe('webhook: none, polling only');
    const bare = { lastEventAt: null, hintsWaiting: 0 };
    expect(webhookLine(sampleWebhook({ ...bare, state: 'foreign', host: 'other.example' }), age)).toBe(
      "webhook: another's at other.example, polling only; last event never",
    );
    expect(webhookLine(sampleWebhook({ ...bare, state: 'suspect' }), age)).toContain('SUSPECT');
    expect(webhookLine(sampleWebhook({ ...bare, state: 'stopped' }), age)).toContain('STOPPED');
  });

  it('lets no host name write to the terminal', () => {
    expect(webhookLine(sampleWebhook({ host: 'x\u001b[2J' }), age)).toContain(String.raw`x\u001b[2J`);
  });
});

describe('the line of submissions', () => {
  it('counts those that wait and those of the last day, and is left out where there are none', () => {
    expect(submissionsLine(sampleAccount().submissions)).toBe(
      'submissions: 3 queued, 1 sending; in the last 24 h 40 accepted, 2 rejected',
    );
    expect(submissionsLine({ ...NO_SUBMISSIONS, unknown: 1 })).toBe(
      'submissions: none waits; in the last 24 h 1 unknown',
    );
    expect(submissionsLine(NO_SUBMISSIONS)).toBeUndefined();
  });
});
