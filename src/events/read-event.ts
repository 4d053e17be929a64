import { createHash, createHmac } from 'node:crypto';
import { rowsOfEvent } from '../model/hint.ts';
import { fieldSource } from '../model/json-text.ts';
import { readKey } from '../model/key.ts';
import type { Privacy } from '../model/privacy.ts';

/** Longest type, in characters: the service's have about twenty (specification 6). */
const MAX_TYPE = 200;

export type VerifiedEvent = NonNullable<ReturnType<typeof readEvent>>;

/**
 * Reads the body of a delivery whose signature is right (specification 2.4), without what must not be stored.
 * @param secret of the delivery
 * @returns undefined for a body that is not one JSON object
 */
export function readEvent(body: Buffer, privacy?: Privacy, secret = '') {
  const sent = objectText(body);
  if (sent === undefined) return undefined;
  const id = readKey('text', fieldSource(sent, 'id'));
  const sentType = stringIn(sent, 'type');
  const type = sentType !== undefined && isPlain(sentType) ? sentType : undefined;
  const named = rowsOfEvent(type, dataIn(sent));
  const source = privacy?.event(named, type, sent) ?? sent;
  // If not all of the body may be stored, the secret keeps it from being found by trying.
  const hash = source === sent ? createHash('sha256') : createHmac('sha256', secret);
  return {
    /** The service's; the hash of the body, in hex, if that can't be a key. */
    id: 'key' in id ? id.key : hash.update(body).digest('hex'),
    type,
    /** As sent. */
    createdAt: stringIn(source, 'created_at'),
    /** JSON text of `data`. */
    dataSource: dataIn(source),
    /** The named rows (`rowsOfEvent`), of any collection. */
    rows: named,
    /** The whole body. */
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

/** UTF-8 without a byte order mark. Other bodies are read as Latin-1: no byte is lost, and JSON stays JSON. */
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

/** Whether a column holds the text unchanged. */
function isPlain(text: string): boolean {
  return text !== '' && text.length <= MAX_TYPE && !text.includes('\0') && text.isWellFormed();
}
