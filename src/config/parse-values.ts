import { ClassifiedError } from '@research-mirror/runtime/errors';
import leven from 'leven';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { collection, COLLECTION_NAMES, type CollectionName } from '../model/collections.ts';
import { KEY_FIELDS } from '../model/privacy.ts';
import { Secret } from './secret.ts';

// Parsers of single values. They throw InvalidValue, which says what is legal.

function matching(pattern: RegExp, why: string): (text: string) => string {
  return (text) => (pattern.test(text) ? text : refuse(text, why));
}

export function parseChoice<const T extends string>(choices: readonly T[]): (text: string) => T {
  return (text) =>
    choices.find((choice) => choice === text.toLowerCase()) ?? refuse(text, `is not one of ${choices.join(', ')}`);
}

export function parseSwitch(text: string): boolean {
  return parseChoice(['on', 'off'])(text) === 'on';
}

export function parseInteger(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    return value >= least && value <= most ? value : refuse(text, `is not a whole number from ${least} to ${most}`);
  };
}

/** 0 takes a free port. */
export const parsePort = parseInteger(0, 65_535);

export function parseShare(text: string): number {
  const value = /^(\d+(\.\d*)?|\.\d+)$/.test(text) ? Number(text) : Number.NaN;
  return value > 0 && value <= 1
    ? value
    : refuse(text, 'is not a share. Use a number above 0 and up to 1, such as 0.8.');
}

const UNITS = { w: 604_800_000, d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** A hundred years. A longer duration is a typing error, and dates would overflow. */
const LONGEST_MS = 36_525 * UNITS.d;

/** Parses `60s`, `1.5h` or `400d` into milliseconds. @param least shortest legal duration */
export function parseDuration(least: string): (text: string) => number {
  return (text) => {
    const ms = milliseconds(text);
    if (ms < milliseconds(least)) refuse(text, `is too short: the minimum is ${least}`);
    return ms <= LONGEST_MS ? ms : refuse(text, 'is too long: the maximum is 36525d');
  };
}

function milliseconds(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)$/.exec(text);
  if (match === null) refuse(text, 'is not a duration. Use a number and a unit, such as 60s, 15m, 12h or 400d.');
  return Math.round(Number(match[1]) * UNITS[match[2] as keyof typeof UNITS]);
}

/** Keeps the text, so that decimal credits lose no digit. */
export const parseAmount = matching(/^\d+(\.\d+)?$/, 'is not an amount such as 100 or 12.50');

/** Whether superseded versions are kept, and for how long; `forMs` undefined: for ever. */
export type History = { readonly kept: false } | { readonly kept: true; readonly forMs: number | undefined };

/** Parses `on`, `off`, or a duration of at least an hour. */
export function parseHistory(text: string): History {
  const choice = text.toLowerCase();
  if (choice === 'on') return { kept: true, forMs: undefined };
  if (choice === 'off') return { kept: false };
  if (!/^\d/.test(text)) return refuse(text, 'is not on, off or a duration such as 400d');
  return { kept: true, forMs: parseDuration('1h')(text) };
}

/** Bounds the length: `<schema>_sync` and names made of it must stay within Postgres's 63 bytes. */
export function parseSchema(text: string): string {
  if (!/^[a-z_][a-z0-9_]{0,39}$/.test(text)) {
    refuse(
      text,
      'is not a valid schema name. Begin with a lower-case letter or _, then add up to 39 lower-case letters, digits or _.',
    );
  }
  if (text.startsWith('pg_') || text === 'information_schema') refuse(text, 'is reserved by Postgres');
  return text;
}

/** @returns the absolute path of a folder with a PostgreSQL server's programs */
export function parsePostgresFolder(text: string): string {
  const folder = resolve(text);
  const missing = ['postgres', 'initdb'].find((name) => !existsSync(join(folder, name)));
  if (missing === undefined) return folder;
  throw new InvalidValue(
    `${folder} has no ${missing}. Give the folder with a PostgreSQL server's programs, such as /usr/lib/postgresql/18/bin`,
  );
}

export function parseHost(text: string): string {
  if (/^[A-Za-z0-9._:%[\]-]+$/.test(text)) return text.replace(/^\[(.*)\]$/, '$1');
  return refuse(text, 'is not a host name or address to listen on');
}

/** A field name of HTTP, RFC 9110 section 5.1. */
export const parseHeaderName = matching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'is not a valid HTTP header name');

/** @returns names in the catalogue's order, without repetitions, each with its parent */
export function parseCollections(text: string): readonly CollectionName[] {
  if (text === 'all') return COLLECTION_NAMES;
  const names = splitList(text).map(parseCollection);
  for (const name of names) {
    const entry = collection(name);
    const parent = entry.kind === 'list' ? entry.parent?.collection : undefined;
    if (parent !== undefined && !names.includes(parent)) {
      throw new InvalidValue(`${name} is read through ${parent}. Add ${parent}.`);
    }
  }
  return COLLECTION_NAMES.filter((name) => names.includes(name));
}

/** Parses `collection.field,…` and `collection.**.field,…`. @param keysToo whether key fields are legal */
export function parseFields(keysToo: boolean) {
  return (text: string): Readonly<Record<CollectionName, readonly string[]>> => {
    const fields = forEachCollection<string[]>(() => []);
    for (const entry of splitList(text)) {
      const [, before = '', field = ''] =
        /^([^.]+)\.(.+)$/.exec(entry) ?? refuse(entry, 'is not in the form collection.field');
      const name = parseCollection(before);
      if (!keysToo && KEY_FIELDS.has(field.replace(/^\*\*\./, ''))) {
        throw new InvalidValue(`${entry} can't be excluded or hashed: it is a key that identifies rows and events`);
      }
      fields[name].push(field);
    }
    return fields;
  };
}

/** A record with an entry for every collection. */
export function forEachCollection<T>(make: (name: CollectionName) => T): Readonly<Record<CollectionName, T>> {
  return Object.fromEntries(COLLECTION_NAMES.map((name) => [name, make(name)])) as Record<CollectionName, T>;
}

function parseCollection(name: string): CollectionName {
  const found = COLLECTION_NAMES.find((match) => match === name);
  if (found !== undefined) return found;
  throw new InvalidValue(
    `unknown collection ${JSON.stringify(name)}${suggestion(name, COLLECTION_NAMES)}. The collections are ${COLLECTION_NAMES.join(', ')}.`,
  );
}

/** Splits at commas and line breaks, without empty parts. */
export function splitList(text: string): string[] {
  const parts = text.split(/[,\r\n]/).map((part) => part.trim());
  return parts.filter((part) => part !== '');
}

/** Parses one or several keys. Messages quote no key. */
export function parseKeys(text: string): readonly Secret[] {
  const keys = [...new Set(splitList(text))];
  if (keys.length === 0) throw new InvalidValue('contains no key');
  return keys.map((key, index) => {
    const which = keys.length === 1 ? 'the key' : `key ${index + 1} of ${keys.length}`;
    if (/^bearer\s/i.test(key))
      throw new InvalidValue(`${which} begins with the word Bearer. Give only the key itself.`);
    if (/^(["']).*\1$/.test(key)) throw new InvalidValue(`${which} is in quotes. Remove them.`);
    return headerSecret(key, `${which} `);
  });
}

export function parseToken(text: string): Secret {
  if (text.length < 16) throw new InvalidValue('is too short: the minimum is 16 characters');
  return headerSecret(text, '');
}

/** Parses a secret of Standard Webhooks. */
export function parseSigningSecret(text: string): Secret {
  const [, key = ''] = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/.exec(text) ?? [];
  const { length } = Buffer.from(key, 'base64');
  if (length >= 24 && length <= 64) return new Secret(text);
  throw new InvalidValue(`is not whsec_ followed by 24 to 64 bytes in base64. Generate one: ${MAKE_SECRET}`);
}

/** With a shorter key, hashed values could be found by trying. */
export function parseHashKey(text: string): Secret {
  if (text.length >= 32) return new Secret(text);
  throw new InvalidValue('is too short: the minimum is 32 characters. Generate one: openssl rand -hex 32');
}

export const MAKE_SECRET = 'echo whsec_$(openssl rand -base64 32)';

function headerSecret(text: string, which: string): Secret {
  if (/^[\x21-\x7e]+$/.test(text)) return new Secret(text);
  throw new InvalidValue(`${which}contains spaces or other characters that an HTTP header can't carry`);
}

/** Says why a value is not legal, to follow the variable's name and a colon. Never quotes a secret. */
export class InvalidValue extends Error {
  override readonly name = 'InvalidValue';
}

/** @throws InvalidValue that quotes the text, which must be no secret */
export function refuse(text: string, why: string): never {
  throw new InvalidValue(`${JSON.stringify(text)} ${why}`);
}

/** The environment can't be used. Each problem begins with a variable's name. */
export class InvalidConfig extends ClassifiedError {
  readonly remedy = 'stop';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    const many = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
    super([`the configuration has ${many}:`, ...problems.map((problem) => `  ${problem}`)].join('\n'));
    this.problems = problems;
  }
}

/** ` (did you mean X?)` with the nearest word, or '' if none is near. */
export function suggestion(name: string, words: readonly string[]): string {
  const [near] = words
    .map((word) => ({ word, distance: leven(name, word) }))
    .filter(({ word, distance }) => distance <= Math.max(2, Math.floor(word.length / 4)))
    .toSorted((a, b) => a.distance - b.distance);
  return near === undefined ? '' : ` (did you mean ${near.word}?)`;
}

/**
 * How deliveries may be signed (specification 6 leaves it open; `auto`: detected). Always HMAC-SHA-256 with the
 * registration's secret, as text or hex-decoded:
 * - `hex`, `sha256-hex`, `base64`: the raw body; the header is `<hex>`, `sha256=<hex>` or `<base64>`
 * - `timestamped`: `<t>.<body>`; the header is `t=<seconds>,v1=<hex>`, with several `v1` while a secret is rotated
 * - `standard-webhooks`: `<webhook-id>.<webhook-timestamp>.<body>`; `webhook-signature: v1,<base64>`
 * - `canonical-json`: the body's JSON, compact, fields sorted, non-ASCII escaped; the header as for the raw body
 */
export const SIGNATURE_SCHEMES = [
  'auto',
  'hex',
  'sha256-hex',
  'base64',
  'timestamped',
  'standard-webhooks',
  'canonical-json',
] as const;

/** Value of MIRROR_WEBHOOK_SCHEME. */
export type SchemeChoice = (typeof SIGNATURE_SCHEMES)[number];

export type Scheme = Exclude<SchemeChoice, 'auto'>;
