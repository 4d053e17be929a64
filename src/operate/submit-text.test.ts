import { expect, it } from 'vitest';
import type { StoredSubmission } from '../submissions/stored-submissions.ts';
import { endLine, responseText, submissionJson, submittingLine } from './submissions.ts';

const submission = (changes: Partial<StoredSubmission> = {}): StoredSubmission => ({
  id: '12',
  userId: '42',
  operation: 'enrich',
  targetId: null,
  state: 'queued',
  idempotencyKey: null,
  responseStatus: null,
  response: null,
  error: null,
  createdAt: new Date('2026-01-01T00:00:00Z'),
  sentAt: null,
  doneAt: null,
  notBefore: null,
  conclusiveAt: null,
  ...changes,
});
const ANSWER = '{"job_id": 9007199254740993}';

it.each<[Partial<StoredSubmission>, string]>([
  [{}, 'queued'],
  [{ error: '429: slow down' }, 'queued; 429: slow down'],
  [{ state: 'sending' }, 'being sent'],
])('the line of a submission under way says what it waits for: %o', (changes, line) => {
  expect(submittingLine(submission(changes))).toBe(`submission 12: ${line}`);
});

it.each<[Partial<StoredSubmission>, string]>([
  [{ state: 'accepted', responseStatus: 201 }, 'accepted (201)'],
  [{ state: 'rejected', responseStatus: 422, error: 'no such company' }, 'rejected (422): no such company'],
  [
    { state: 'unknown', error: 'reset', conclusiveAt: new Date('2026-01-01T00:05:00Z') },
    'outcome unknown: reset. Never retry: it may have taken effect; from 2026-01-01 00:05 UTC on, what the service lists tells',
  ],
  [{ state: 'cancelled' }, 'cancelled'],
  [{ state: 'held' }, 'held: a copy; "research-mirror submissions release" sends it'],
  // No word of the service writes to the terminal.
  [{ state: 'rejected', error: '\u001b[2J' }, String.raw`rejected: \u001b[2J`],
])('the line of an end: %o', (changes, line) => {
  expect(endLine(submission(changes), 'a copy')).toBe(`submission 12: ${line}`);
});

it('an answer is printed as it came: JSON with every digit, anything else as its text', () => {
  const printed = [null, ANSWER, '"<html>"'].map((response) => responseText(submission({ response })));
  expect(printed).toEqual([undefined, ANSWER, '<html>']);
});

it('an answer stands in the submission’s JSON as it came', () => {
  const text = submissionJson(submission({ response: ANSWER }), { stuck: null });
  expect(text).toContain(`"response":${ANSWER}}`);
  expect(JSON.parse(text)).toMatchObject({ id: '12', state: 'queued', stuck: null });
  expect(JSON.parse(submissionJson(submission()))).toMatchObject({ response: null });
});
