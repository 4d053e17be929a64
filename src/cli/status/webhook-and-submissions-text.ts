import type { SubmissionCounts, WebhookStatus } from '../../model/status/status-report.ts';
import { formatCount } from '@research-mirror/runtime/figures';
import { printable } from '../terminal/text-table.ts';

/** How an account hears of events, in one line. @param age `5 s ago`, or `never` */
export function webhookLine(
  { state, host, lastEventAt, hintsWaiting }: WebhookStatus,
  age: (at: string | null) => string,
): string {
  const at = host === null ? '' : ` at ${printable(host)}`;
  const is: Record<typeof state, string> = {
    none: 'none, polling only',
    registering: `being registered${at}`,
    registered: `registered${at}`,
    foreign: `another's${at}, polling only`,
    suspect: `registered${at}, but SUSPECT: signatures do not fit`,
    stopped: 'STOPPED: another program takes its place again and again',
  };
  const phrases = [is[state]];
  if (state !== 'none' || lastEventAt !== null) phrases.push(`last event ${age(lastEventAt)}`);
  if (hintsWaiting > 0) phrases.push(`${formatCount(hintsWaiting)} to be read again`);
  return `webhook: ${phrases.join('; ')}`;
}

/** Submissions that wait, and those of the last day; undefined where there are none. */
export function submissionsLine(counts: SubmissionCounts): string | undefined {
  const { queued, sending, held, accepted, rejected, unknown, cancelled } = counts;
  const list = (states: Readonly<Record<string, number>>): string =>
    Object.entries(states)
      .filter(([, count]) => count > 0)
      .map(([state, count]) => `${formatCount(count)} ${state}`)
      .join(', ');
  const waiting = list({ queued, sending, held });
  const ended = list({ accepted, rejected, unknown, cancelled });
  if (waiting === '' && ended === '') return undefined;
  return `submissions: ${waiting === '' ? 'none waits' : waiting}${ended === '' ? '' : `; in the last 24 h ${ended}`}`;
}
