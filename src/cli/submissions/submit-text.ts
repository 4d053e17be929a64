import type { StoredSubmission } from '../../db/submissions/stored-submissions.ts';
import { minute, printable } from '../terminal/text-table.ts';

export function submittingLine({ id, state, error }: StoredSubmission): string {
  if (state === 'sending') return `submission ${id}: being sent`;
  // Of one that is queued it says what it waits for, where that is not its turn.
  return `submission ${id}: queued${error === null ? '' : `; ${printable(error)}`}`;
}

/**
 * How a submission ended, in one line.
 * @param held why it is held, where it is
 */
export function endLine(submission: StoredSubmission, held: string | undefined): string {
  const { id, state, responseStatus, error, conclusiveAt } = submission;
  const what = `submission ${id}`;
  const answer = responseStatus === null ? '' : ` (${responseStatus})`;
  const why = error === null ? '' : `: ${printable(error)}`;
  switch (state) {
    case 'accepted':
      return `${what}: accepted${answer}`;
    case 'rejected':
      return `${what}: rejected${answer}${why}`;
    case 'unknown': {
      const from =
        conclusiveAt === null ? '' : `; from ${minute(conclusiveAt)} UTC on, what the service lists tells`;
      return `${what}: outcome unknown${answer}${why}. Never retry: it may have taken effect${from}`;
    }
    case 'cancelled':
      return `${what}: cancelled`;
    case 'held':
      return `${what}: held: ${held ?? 'the database was restored or copied'}; "research-mirror submissions release" sends it`;
    case 'queued':
    case 'sending':
      return `${what}: ${state}`;
  }
}

/** The answer's body as the service sent it; undefined where there is none. */
export function responseText({ response }: StoredSubmission): string | undefined {
  if (response === null) return undefined;
  // A body that is no JSON is kept as a JSON string.
  return response.startsWith('"') ? (JSON.parse(response) as string) : response;
}

/** As a JSON object; the response stands in it as it came, digit by digit. */
export function submissionJson({ response, ...rest }: StoredSubmission, more: object = {}): string {
  const text = JSON.stringify({ ...rest, ...more });
  return `${text.slice(0, -1)},"response":${response ?? 'null'}}`;
}
