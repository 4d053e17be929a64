import { createHash } from 'node:crypto';
import { rowsOfEvent } from '../../model/hint.ts';
import { fieldSource } from '../../model/json/json-text.ts';
import { readKey } from '../../model/key.ts';
import type { VerifiedEvent } from '../../model/webhook/verified-event.ts';

/** Longest type, in characters: the service's have some twenty (specification 6). */
const MAX_TYPE = 200;

/**
 * Reads a verified delivery's body; the SHA-256 names an event without an `id` that can be a key.
 * @returns undefined for a body that is not one JSON object
 */
export function readEvent(body: Buffer): VerifiedEvent | undefined {
  const source = objectText(body);
  if (source === undefined) return undefined;
  const id = readKey('text', fieldSource(source, 'id'));
  const sentType = stringIn(source, 'type');
  const type = sentType !== undefined && isPlain(sentType) ? sentType : undefined;
  const data = fieldSource(source, 'data');
  const dataSource = data === 'null' ? undefined : data;
  return {
    id: 'key' in id ? id.key : createHash('sha256').update(body).digest('hex'),
    type,
    createdAt: stringIn(source, 'created_at'),
    dataSource,
    rows: rowsOfEvent(type, dataSource),
    source,
  };
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
