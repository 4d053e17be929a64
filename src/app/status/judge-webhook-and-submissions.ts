import type { FoundProblem } from './group-problems.ts';
import type { AccountStatus, HoldStatus, WebhookStatus } from '../../model/status/status-report.ts';
import { saysAstray } from '../../webhooks/registration/remedies.ts';
import { countOf } from '@research-mirror/runtime/figures';

/** What a mirror's state means for people. */
export interface HealthJudgement {
  /** What is wrong, the worst first. */
  readonly findings: readonly FoundProblem[];
  /** What is good to know, one sentence each. */
  readonly notes: readonly string[];
}

/** What is wrong with events in and operations out. @param running whether a daemon runs */
export function judgeWebhookAndSubmissions(
  accounts: readonly AccountStatus[],
  held: HoldStatus | null,
  running: boolean,
): HealthJudgement {
  const findings = [...holdProblem(held, accounts), ...accounts.flatMap(webhookProblem)];
  return { findings, notes: accounts.flatMap((account) => notesOn(account, running)) };
}

function holdProblem(held: HoldStatus | null, accounts: readonly AccountStatus[]): FoundProblem[] {
  if (held === null) return [];
  const waiting = accounts.reduce((sum, { submissions }) => sum + submissions.held, 0);
  const what = waiting === 0 ? 'no webhook is taken over' : `${countOf(waiting, 'submission')} held`;
  return [
    {
      cause: 'submissions_held',
      what: `${what}: ${held.why}`,
      since: held.since,
      byItself: 'nothing is sent; mirroring goes on',
      remedy:
        'once you know that no other copy of this database sends them: "research-mirror submissions release"',
    },
  ];
}

/** The registration's own message, where it has one, names the remedy. */
function webhookProblem({ userId, webhook }: AccountStatus): FoundProblem[] {
  const { state, error } = webhook;
  if (saysAstray(error)) {
    const byItself = 'it is tried again each minute; polls find changes';
    return [{ cause: 'webhook_astray', what: `webhook: ${error}`, where: userId, byItself }];
  }
  if (state !== 'suspect' && state !== 'stopped') return [];
  const usual =
    state === 'suspect'
      ? {
          what: 'deliveries come with signatures that do not fit its secret',
          byItself: 'only polls find changes; it is registered again, at most hourly',
          remedy: 'does the service sign as MIRROR_WEBHOOK_SCHEME and MIRROR_WEBHOOK_HEADER say?',
        }
      : {
          what: `another program${at(webhook)} takes its place again and again`,
          byItself: 'only polls find changes',
          remedy: 'stop that program, or unset MIRROR_PUBLIC_URL, and start again',
        };
  return [
    {
      cause: state === 'suspect' ? 'webhook_refused' : 'webhook_displaced',
      where: userId,
      ...usual,
      ...(error === null ? {} : { remedy: null }),
      what: `webhook: ${error ?? usual.what}`,
    },
  ];
}

function notesOn({ userId, webhook, submissions }: AccountStatus, running: boolean): string[] {
  const notes: string[] = [];
  const { state, error, renewedSince } = webhook;
  if (renewedSince !== null) {
    notes.push(
      `webhook of account ${userId}: it was removed or changed at the service (noticed ${renewedSince}), and is registered again`,
    );
  }
  if (state === 'foreign') {
    const usual =
      `another one is registered${at(webhook)}, so that events do not come here; ` +
      'MIRROR_WEBHOOK_TAKEOVER=always replaces it';
    notes.push(`webhook of account ${userId}: ${error ?? usual}`);
  } else if (error !== null && state !== 'suspect' && state !== 'stopped' && !saysAstray(error)) {
    notes.push(`webhook of account ${userId}: ${error}`);
  }
  const { unknown } = submissions;
  if (unknown > 0) {
    notes.push(
      `${countOf(unknown, 'submission')} of account ${userId} ended with an unknown outcome in the last 24 h, and ` +
        `${unknown === 1 ? 'is' : 'are'} never sent again: "research-mirror submissions list --state unknown"`,
    );
  }
  const waiting = submissions.queued + submissions.sending;
  if (waiting > 0 && !running) {
    notes.push(
      `${countOf(waiting, 'submission')} of account ${userId} ${waiting === 1 ? 'waits' : 'wait'} for a daemon`,
    );
  }
  return notes;
}

function at({ host }: WebhookStatus): string {
  return host === null ? '' : ` at ${host}`;
}
