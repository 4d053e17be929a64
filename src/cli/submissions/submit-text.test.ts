import { describe, expect, it } from 'vitest';
import type { StoredSubmission } from '../../db/submissions/stored-submissions.ts';
import { endLine, responseText, submissionJson, submittingLine } from './submit-action.ts';

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

describe('the line of a submission under way', () => {
  it('says what it waits for', () => {
    expect(submittingLine(submission())).toBe('submission 12: queued');
    expect(submittingLine(submission({ error: '429: slow down' }))).toBe(
      'submission 12: queued; 429: slow down',
    );
    expect(submittingLine(submission({ state: 'sending' }))).toBe('submission 12: being sent');
  });
});

describe('the line of an end', () => {
  it.each([
    [{ state: 'accepted', responseStatus: 201 }, 'submission 12: accepted (201)'],
    [
      { state: 'rejected', responseStatus: 422, error: 'no such company' },
      'submission 12: rejected (422): no such company',
    ],
    [
      { state: 'unknown', error: 'reset', conclusiveAt: new Date('2026-01-01T00:05:00Z') },
      'submission 12: outcome unknown: reset. Never retry: it may have taken effect; from 2026-01-01 00:05 UTC on, what the service lists tells',
    ],
    [{ state: 'cancelled' }, 'submission 12: cancelled'],
    [{ state: 'held' }, 'submission 12: held: a copy; "research-mirror submissions release" sends it'],
  ] as const)('%o', (changes, line) => {
    expect(endLine(submission(changes), 'a copy')).toBe(line);
  });

  it('lets no word of the service write to the terminal', () => {
    expect(endLine(submission({ state: 'rejected', error: '\u001b[2J' }), undefined)).toContain(
      String.raw`\u001b[2J`,
    );
  });
});

describe('an answer', () => {
  it('is printed as it came: JSON with every digit, anything else as its text', () => {
    expect(responseText(submission())).toBeUndefined();
    expect(responseText(submission({ response: '{"job_id": 9007199254740993}' }))).toBe(
      '{"job_id": 9007199254740993}',
    );
    expect(responseText(submission({ response: '"<html>"' }))).toBe('<html>');
  });

  it('stands in the submission’s JSON as it came', () => {
    const text = submissionJson(submission({ response: '{"job_id": 9007199254740993}' }), { stuck: null });
    expect(text).toContain('"response":{"job_id": 9007199254740993}}');
    expect(JSON.parse(text)).toMatchObject({ id: '12', state: 'queued', stuck: null });
    expect(JSON.parse(submissionJson(submission()))).toMatchObject({ response: null });
  });
});
