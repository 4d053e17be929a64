import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { COLLECTION_NAMES, collection, type CollectionName } from '../../model/collections.ts';
import type { FieldsByCollection, History } from '../config.ts';
import { parseDuration } from './duration.ts';
import { InvalidValue } from '../invalid.ts';
import { suggestion } from '../suggestion.ts';

// Parsers of single values. They throw InvalidValue, which says what is legal.

export function parseChoice<const T extends string>(choices: readonly T[]): (text: string) => T {
  return (text) => {
    const found = choices.find((choice) => choice === text.toLowerCase());
    if (found !== undefined) return found;
    throw new InvalidValue(`${JSON.stringify(text)} is none of ${choices.join(', ')}`);
  };
}

export function parseInteger(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidValue(`${JSON.stringify(text)} is no whole number from ${least} to ${most}`);
  };
}

/** 0 takes a free port. */
export const parsePort = parseInteger(0, 65_535);

export function parseShare(text: string): number {
  const value = /^(\d+(\.\d*)?|\.\d+)$/.test(text) ? Number(text) : Number.NaN;
  if (value > 0 && value <= 1) return value;
  throw new InvalidValue(`${JSON.stringify(text)} is no share: over 0, up to 1, such as 0.8`);
}

/** Keeps the text: credits are decimal, and no digit may be lost. */
export function parseAmount(text: string): string {
  if (/^\d+(\.\d+)?$/.test(text)) return text;
  throw new InvalidValue(`${JSON.stringify(text)} is no amount, such as 100 or 12.50`);
}

/** Parses `on`, `off`, or how long superseded versions are kept: an hour at least. */
export function parseHistory(text: string): History {
  const choice = text.toLowerCase();
  if (choice === 'on') return { kept: true, forMs: undefined };
  if (choice === 'off') return { kept: false };
  if (!/^\d/.test(text)) {
    throw new InvalidValue(`${JSON.stringify(text)} is none of on, off, and no duration such as 400d`);
  }
  return { kept: true, forMs: parseDuration(text, 3_600_000) };
}

/** Keeps the name short: `<schema>_sync` and names made of it must stay within Postgres's 63 bytes. */
export function parseSchema(text: string): string {
  if (!/^[a-z_][a-z0-9_]{0,39}$/.test(text)) {
    throw new InvalidValue(
      `${JSON.stringify(text)} is no schema name: a small letter or _, then up to 39 small letters, digits or _`,
    );
  }
  if (text.startsWith('pg_') || text === 'information_schema') {
    throw new InvalidValue(`${JSON.stringify(text)} is reserved by Postgres`);
  }
  return text;
}

/** Gives the absolute path of a folder that has the programs of a PostgreSQL server. */
export function parsePostgresFolder(text: string): string {
  const folder = resolve(text);
  const missing = ['postgres', 'initdb'].find((name) => !existsSync(join(folder, name)));
  if (missing === undefined) return folder;
  throw new InvalidValue(
    `${folder} has no ${missing}: name the folder of a PostgreSQL server's programs, such as /usr/lib/postgresql/18/bin`,
  );
}

export function parseHost(text: string): string {
  if (/^[A-Za-z0-9._:%[\]-]+$/.test(text)) return text.replace(/^\[(.*)\]$/, '$1');
  throw new InvalidValue(`${JSON.stringify(text)} is no host name or address to listen on`);
}

/** A field name of HTTP, RFC 9110 section 5.1. */
export function parseHeaderName(text: string): string {
  if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(text)) return text;
  throw new InvalidValue(`${JSON.stringify(text)} is no name of an HTTP header`);
}

/** Gives the catalogue's order, without repetitions. A collection can't be read without its parent. */
export function parseCollections(text: string): readonly CollectionName[] {
  if (text === 'all') return COLLECTION_NAMES;
  const names = splitList(text);
  for (const name of names) requireCollection(name);
  for (const name of names) {
    const entry = collection(name);
    const parent = entry.kind === 'list' ? entry.parent?.collection : undefined;
    if (parent !== undefined && !names.includes(parent)) {
      throw new InvalidValue(`${name} needs ${parent} too: its paths are found there`);
    }
  }
  return COLLECTION_NAMES.filter((name) => names.includes(name));
}

/** Parses `collection.field,…`. @param keysToo whether key fields may be named: no row is stored without its key */
export function parseFields(keysToo: boolean): (text: string) => FieldsByCollection {
  return (text) => {
    const fields = new Map<CollectionName, string[]>();
    for (const entry of splitList(text)) {
      const dot = entry.indexOf('.');
      const field = entry.slice(dot + 1);
      if (dot <= 0 || field === '') throw new InvalidValue(`${JSON.stringify(entry)} is no collection.field`);
      const name = requireCollection(entry.slice(0, dot));
      const found = collection(name);
      if (!keysToo && found.kind === 'list' && found.keyField === field) {
        throw new InvalidValue(`${entry} is the key of its rows and can't be left out`);
      }
      fields.set(name, [...(fields.get(name) ?? []), field]);
    }
    return forEachCollection((name) => fields.get(name) ?? []);
  };
}

/** A record with an entry for every collection. */
export function forEachCollection<T>(make: (name: CollectionName) => T): Readonly<Record<CollectionName, T>> {
  return Object.fromEntries(COLLECTION_NAMES.map((name) => [name, make(name)])) as Record<CollectionName, T>;
}

/** Splits at commas and line breaks; empty parts don't count. */
export function splitList(text: string): string[] {
  return text
    .split(/[,\r\n]/)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function requireCollection(name: string): CollectionName {
  const found = COLLECTION_NAMES.find((match) => match === name);
  if (found !== undefined) return found;
  throw new InvalidValue(
    `there is no collection ${JSON.stringify(name)}${suggestion(name, COLLECTION_NAMES)}: ${COLLECTION_NAMES.join(', ')}`,
  );
}
