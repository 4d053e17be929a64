import { json, type Answer } from './answer.ts';
import type { Envelope } from './envelope.ts';

/** Longer pages, in UTF-16 units, are made while they are sent: V8 can't hold a text of 500 items of megabytes. */
const MAX_BUFFERED = 4 * 1024 * 1024;

/** A page of `count` items, given as their texts. */
export function listAnswer(texts: Iterable<string>, count: number, { head, tail }: Envelope): Answer {
  const pieces = piecesOf(texts, head, tail);
  let body = '';
  for (;;) {
    const { done, value } = pieces.next();
    if (done === true) return json(200, body, count);
    body += value;
    if (body.length > MAX_BUFFERED) return { ...json(200, body, count), rest: pieces };
  }
}

function* piecesOf(texts: Iterable<string>, head: string, tail: string): Generator<string, undefined> {
  let before = head;
  for (const text of texts) {
    yield before + text;
    before = ',';
  }
  yield before === head ? head + tail : tail;
}
