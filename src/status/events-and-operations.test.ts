import { expect, it } from 'vitest';
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

it('events in and operations out are healthy with a registered webhook, and without one', () => {
  const accounts = [account(), webhook({ state: 'none', host: null }), webhook({ state: 'registering' })];
  expect(lines(accounts)).toEqual({ problems: [], notes: [] });
});

it('events in and operations out have a note if the webhook was removed at the service and is registered again', () => {
  const renewedSince = '2026-01-01T00:30:00.000Z';
  const note = `webhook of account 42: it was removed or changed at the service (noticed ${renewedSince}) and has been registered again`;
  expect(lines([webhook({ renewedSince })])).toEqual({ problems: [], notes: [note] });
});

it('events in and operations out are a problem while submissions are on hold, with the command that releases them', () => {
  const held = { since: '2026-01-01T00:00:00Z', why: 'the database was copied' };
  const { problems } = lines([account({ submissions: { ...NO_SUBMISSIONS, held: 2, queued: 1 } })], held);
  expect(problems).toEqual([
    '2 submissions held: the database was copied. Began 60 min ago. Meanwhile: nothing is sent; mirroring continues. ' +
      'Fix: make sure that no other copy of this database sends them, then run "research-mirror submissions release"',
  ]);
  expect(lines([account()], held).problems[0]).toMatch(/^no webhook is registered or removed: /);
});

const ASTRAY = goAstray('MIRROR_PUBLIC_URL (a.example) does not lead to 127.0.0.1:8081; mend it');
it.each([
  ['suspect', SUSPECT_SIGNATURES, 'only polls find changes; the daemon registers it again, at most once an hour'],
  ['stopped', STOPPED, 'only polls find changes'],
  ['registered', ASTRAY, 'the daemon checks it again every 15 minutes; polls find changes'],
] as const)('a webhook that is %s is a problem: %s', (state, error, byItself) => {
  const problems = [`webhook: ${error}. Affects 42. Meanwhile: ${byItself}`];
  expect(lines([webhook({ state, error })])).toEqual({ problems, notes: [] });
});

it('events in and operations out are a problem if another webhook is registered, and have a note if ours is refused', () => {
  const error = leftAlone({ url: 'https://other.example/hook', active: true } as never, 'if-empty');
  const foreign = webhook({ state: 'foreign', error });
  const refused = webhook({ state: 'none', error: 'the service refuses to register it' });
  const { problems, notes } = lines([foreign, refused]);
  expect(problems).toEqual([
    expect.stringMatching(/leads to other\.example.*MIRROR_WEBHOOK_TAKEOVER=if-empty.*"always"/),
  ]);
  expect(notes).toEqual(['webhook of account 42: the service refuses to register it']);
});

it('events in and operations out have a note if outcomes are unknown', () => {
  const submissions = { ...NO_SUBMISSIONS, queued: 1, unknown: 2 };
  expect(lines([account({ submissions })]).notes).toEqual([
    '2 submissions of account 42 ended with an unknown outcome in the last 24 h, and will not be sent again. ' +
      'To list them, run "research-mirror submissions list --state unknown"',
  ]);
});
