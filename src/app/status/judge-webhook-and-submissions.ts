import type { AccountStatus, HoldStatus, WebhookStatus } from '../../model/status-report.ts';
import { countOf } from '@research-mirror/runtime/figures';

/** What a mirror's state means for people, one sentence each. */
export interface HealthJudgement {
  /** What is wrong, with its remedy, the worst first. */
  readonly problems: readonly string[];
  readonly notes: readonly string[];
}

/** What is wrong with events in and operations out. @param running whether a daemon runs */
export function judgeWebhookAndSubmissions(
  accounts: readonly AccountStatus[],
  held: HoldStatus | null,
  running: boolean,
): HealthJudgement {
  const problems = [...holdProblem(held, accounts), ...accounts.flatMap(webhookProblem)];
  return { problems, notes: accounts.flatMap((account) => notesOn(account, running)) };
}

function holdProblem(held: HoldStatus | null, accounts: readonly AccountStatus[]): string[] {
  if (held === null) return [];
  const waiting = accounts.reduce((sum, { submissions }) => sum + submissions.held, 0);
  const what = waiting === 0 ? 'no webhook is taken over' : `${countOf(waiting, 'submission')} held`;
  return [
    `${what}: ${held.why}; once you know that no other copy of this database sends them: ` +
      '"research-mirror submissions release"',
  ];
}

/** The registration's own message, where it has one, names the remedy. */
function webhookProblem({ userId, webhook }: AccountStatus): string[] {
  const { state, error } = webhook;
  if (state !== 'suspect' && state !== 'stopped') return [];
  const usual =
    state === 'suspect'
      ? 'deliveries come with signatures that do not fit its secret: only polls find changes, and it is registered again, ' +
        'at most hourly; ' +
        'does the service sign as MIRROR_WEBHOOK_SCHEME and MIRROR_WEBHOOK_HEADER say?'
      : `another program${at(webhook)} takes its place again and again: only polls find changes. Stop that one, or unset MIRROR_PUBLIC_URL, ` +
        'and start again';
  return [`webhook of account ${userId}: ${error ?? usual}`];
}

function notesOn({ userId, webhook, submissions }: AccountStatus, running: boolean): string[] {
  const notes: string[] = [];
  const { state, error } = webhook;
  if (state === 'foreign') {
    const usual =
      `another one is registered${at(webhook)}, so that events do not come here; ` +
      'MIRROR_WEBHOOK_TAKEOVER=always replaces it';
    notes.push(`webhook of account ${userId}: ${error ?? usual}`);
  } else if (error !== null && state !== 'suspect' && state !== 'stopped') {
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
