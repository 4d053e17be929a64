import { describe, expect, it } from 'vitest';
import {
  NO_SUBMISSIONS,
  sampleAccount,
  sampleReport,
  sampleWebhook,
} from '../../test/support/processes/status-report.ts';
import type { AccountStatus, Facts } from './status-report.ts';
import { problemLine } from './problem.ts';
import { goAstray, leftAlone, STOPPED, SUSPECT_SIGNATURES } from '../events/decisions.ts';
import { judge } from './problems.ts';

const account = (changes: Partial<AccountStatus> = {}): AccountStatus =>
  sampleAccount({ submissions: NO_SUBMISSIONS, ...changes });
const webhook = (changes: Partial<AccountStatus['webhook']>): AccountStatus =>
  account({ webhook: sampleWebhook(changes) });

/** Problems and notes as people read them. */
function lines(accounts: readonly AccountStatus[], held: Facts['held'] = null) {
  const { problems, notes } = judge(sampleReport({ accounts, held }));
  return { problems: problems.map((each) => problemLine(each, NOW)), notes };
}

const NOW = Date.parse('2026-01-01T01:00:00Z');

describe('events in and operations out', () => {
  it('are healthy with a registered webhook, and without one', () => {
    const accounts = [account(), webhook({ state: 'none', host: null }), webhook({ state: 'registering' })];
    expect(lines(accounts)).toEqual({ problems: [], notes: [] });
  });

  it('have a note if the webhook was removed at the service and is registered again', () => {
    const renewed = webhook({ renewedSince: '2026-01-01T00:30:00.000Z' });
    expect(lines([renewed])).toEqual({
      problems: [],
      notes: [
        `webhook of account ${renewed.userId}: it was removed or changed at the service (noticed 2026-01-01T00:30:00.000Z), and is registered again`,
      ],
    });
  });

  it('are a problem while submissions are on hold, with the command that releases them', () => {
    const held = { since: '2026-01-01T00:00:00Z', why: 'the database was copied' };
    const { problems } = lines([account({ submissions: { ...NO_SUBMISSIONS, held: 2, queued: 1 } })], held);
    expect(problems).toEqual([
      '2 submissions held: the database was copied; since 60 min ago; by itself: nothing is sent; mirroring goes on; ' +
        'do: once you know that no other copy of this database sends them: "research-mirror submissions release"',
    ]);
    expect(lines([account()], held).problems[0]).toMatch(/^no webhook is taken over: /);
  });

  it('are a problem while the webhook is suspect or was given up', () => {
    const suspect = webhook({ state: 'suspect', error: SUSPECT_SIGNATURES });
    const stopped = webhook({ state: 'stopped', error: STOPPED });
    expect(lines([suspect, stopped])).toEqual({
      problems: [
        `webhook: ${SUSPECT_SIGNATURES}; affects 42; by itself: only polls find changes; it is registered again, at most hourly`,
        `webhook: ${STOPPED}; affects 42; by itself: only polls find changes`,
      ],
      notes: [],
    });
  });

  it('are one problem if deliveries go astray', () => {
    const error = goAstray('MIRROR_PUBLIC_URL (a.example) does not lead to 127.0.0.1:8081; mend it');
    const { problems, notes } = lines([webhook({ state: 'registered', error })]);
    expect(problems).toEqual([
      `webhook: ${error}; affects 42; by itself: it is tried again each quarter of an hour; polls find changes`,
    ]);
    expect(notes).toEqual([]);
  });

  it('are a problem if another webhook is registered, and have a note if ours is refused', () => {
    const error = leftAlone({ url: 'https://other.example/hook', active: true } as never, 'if-empty');
    const foreign = webhook({ state: 'foreign', error });
    const refused = webhook({ state: 'none', error: 'the service refuses to register it' });
    const { problems, notes } = lines([foreign, refused]);
    expect(problems).toEqual([
      expect.stringMatching(/leads to other\.example.*MIRROR_WEBHOOK_TAKEOVER=if-empty.*"always"/),
    ]);
    expect(notes).toEqual(['webhook of account 42: the service refuses to register it']);
  });

  it('have a note if outcomes are unknown', () => {
    const submissions = { ...NO_SUBMISSIONS, queued: 1, unknown: 2 };
    expect(lines([account({ submissions })]).notes).toEqual([
      '2 submissions of account 42 ended with an unknown outcome in the last 24 h, and are never sent again: ' +
        '"research-mirror submissions list --state unknown"',
    ]);
  });
});
