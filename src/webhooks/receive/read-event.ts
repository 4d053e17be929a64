import { createHash } from 'node:crypto';
import { rowsOfEvent } from '../../model/hint.ts';
import { fieldSource } from '../../model/json/json-text.ts';
import { readKey } from '../../model/key.ts';
import type { VerifiedEvent } from '../../model/webhook/verified-event.ts';

/** Longest type, in characters: the service's have some twenty (specification 6). */
const MAX_TYPE = 200;

/**
 * Reads a verified delivery's body. Any body is an event: the SHA-256 names one without an `id` that can be a key,
 * and one that is no JSON object has neither type nor data.
 */
export function readEvent(body: Buffer): VerifiedEvent {
  const source = textOf(body);
  const { isJson, isObject } = parse(source);
  const envelope = isObject ? source : '{}';
  const id = readKey('text', fieldSource(envelope, 'id'));
  const sentType = stringIn(envelope, 'type');
  const type = sentType !== undefined && isPlain(sentType) ? sentType : undefined;
  const data = fieldSource(envelope, 'data');
  const dataSource = data === 'null' ? undefined : data;
  return {
    id: 'key' in id ? id.key : createHash('sha256').update(body).digest('hex'),
    type,
    createdAt: stringIn(envelope, 'created_at'),
    dataSource,
    rows: rowsOfEvent(type, dataSource),
    source,
    isJson,
  };
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

function parse(source: string): { readonly isJson: boolean; readonly isObject: boolean } {
  try {
    const value: unknown = JSON.parse(source);
    return { isJson: true, isObject: typeof value === 'object' && value !== null && !Array.isArray(value) };
  } catch {
    return { isJson: false, isObject: false };
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
