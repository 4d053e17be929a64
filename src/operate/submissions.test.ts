import fc from 'fast-check';
import { expect, it } from 'vitest';
import { checkPayload, endLine, repeatedField, responseText, submissionJson, submittingLine } from './submissions.ts';
import type { StoredSubmission } from '../submissions/stored-submissions.ts';

it('a payload keeps its spaces, digits and spelling', () => {
  const text = ' {"id": 9007199254740993, "n": 1.50e3, "t": "\\u00e4"} ';
  expect(checkPayload(text)).toBe(text);
});

it.each([
  ['', /--data is not JSON/],
  ['{"a": 1', /--data is not JSON/],
  ['[1]', /must be a JSON object/],
  ['null', /must be a JSON object/],
  ['{"a": 1, "b": {"c": 1, "c": 2}}', /an object has the field "c" twice/],
])('the payload %s is refused', (text, why) => {
  expect(() => checkPayload(text)).toThrow(why);
});

it.each([
  ['{"a":1,"a":2}', 'a'],
  ['{"a":1,"\\u0061":2}', 'a'],
  ['[{"x":{}},{"x":{"y":1,"z":[{"y":1}],"y":2}}]', 'y'],
  ['{"a":"b","b":"a","c":["a","a"],"d":{"a":1}}', undefined],
  ['{"a":"{\\"b\\":1,\\"b\\":2}","b":"\\\\"}', undefined],
  ['[{"a":1},{"a":1}]', undefined],
])('the duplicate field of %s is %s', (text, field) => {
  expect(repeatedField(text)).toBe(field);
});

it('a duplicate field is found wherever it is, and never in the output of JSON.stringify', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(repeatedField(text)).toBeUndefined();
      expect(repeatedField(`{"x":${text},"x":null}`)).toBe('x');
    }),
  );
});

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
    "outcome unknown: reset. It may have taken effect; the service's lists show it from 2026-01-01 00:05 UTC on. Never retry it",
  ],
  [{ state: 'cancelled' }, 'cancelled'],
  [{ state: 'held' }, 'on hold: a copy. "research-mirror submissions release" sends it'],
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
