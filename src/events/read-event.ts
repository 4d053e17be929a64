import { createHash, createHmac } from 'node:crypto';
import { type HintedRow, rowsOfEvent } from '../model/hint.ts';
import { fieldSource } from '../model/json-text.ts';
import { readKey } from '../model/key.ts';
import type { Privacy } from '../model/privacy.ts';

/** Longest type, in characters: the service's have some twenty (specification 6). */
const MAX_TYPE = 200;

/**
 * Reads a verified delivery's body, and leaves of it what may be stored. An event without an `id` that can be a key is
 * named by the body's SHA-256; where not all of it may be stored, under the delivery's secret: nobody finds it by
 * trying.
 * @returns undefined for a body that is not one JSON object
 */
export function readEvent(body: Buffer, privacy?: Privacy, secret = ''): VerifiedEvent | undefined {
  const sent = objectText(body);
  if (sent === undefined) return undefined;
  const id = readKey('text', fieldSource(sent, 'id'));
  const sentType = stringIn(sent, 'type');
  const type = sentType !== undefined && isPlain(sentType) ? sentType : undefined;
  const named = rowsOfEvent(type, dataIn(sent));
  const source = privacy?.event(named, type, sent) ?? sent;
  return {
    id:
      'key' in id
        ? id.key
        : (source === sent ? createHash('sha256') : createHmac('sha256', secret)).update(body).digest('hex'),
    type,
    createdAt: stringIn(source, 'created_at'),
    dataSource: dataIn(source),
    rows: named,
    source,
  };
}

function dataIn(envelope: string): string | undefined {
  const data = fieldSource(envelope, 'data');
  return data === 'null' ? undefined : data;
}

function objectText(body: Buffer): string | undefined {
  const text = textOf(body);
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? text : undefined;
  } catch {
    return undefined;
  }
}

/**
 * UTF-8, without a byte order mark. A body that is not UTF-8 is read as Latin-1: no byte is lost, and JSON stays
 * JSON.
 */
function textOf(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return body.toString('latin1');
  }
}

function stringIn(envelope: string, field: string): string | undefined {
  const value: unknown = JSON.parse(fieldSource(envelope, field) ?? 'null');
  return typeof value === 'string' ? value : undefined;
}

/** Text that a column holds as it is. */
function isPlain(text: string): boolean {
  return text !== '' && text.length <= MAX_TYPE && !text.includes('\0') && text.isWellFormed();
}

/** What was read from the body of a rightly signed delivery (specification 2.4), which is a JSON object. */
export interface VerifiedEvent {
  /** As the service gave it; the SHA-256 of the body, in hex, where it gave none that can be a key. */
  readonly id: string;
  readonly type: string | undefined;
  /** As sent. */
  readonly createdAt: string | undefined;
  /** JSON text of `data`. */
  readonly dataSource: string | undefined;
  /** The rows that it names (`rowsOfEvent`), of any collection. */
  readonly rows: readonly HintedRow[];
  /** The whole body. */
  readonly source: string;
}

/** Where verified events go. */
export interface EventSink {
  /** Resolves when the event is stored for good: it is answered only then (invariant 7). */
  store(userId: string, event: VerifiedEvent): Promise<'stored' | 'known'>;
}
