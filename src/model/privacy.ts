import { createHmac, hash } from 'node:crypto';
import { COLLECTION_NAMES, COLLECTIONS, type CollectionName } from './collections.ts';
import type { HintedRow } from './hint.ts';
import { canonicalText, fieldSources, sliceElements } from './json-text.ts';
import { isJson, jsonbNumber } from './values.ts';
import type { OperationName } from './submission.ts';

/** Of MIRROR_EXCLUDE_FIELDS or MIRROR_HASH_FIELDS: `field` at the top level, `**.field` at any depth. */
export type NamedFields = Readonly<Record<CollectionName, readonly string[]>>;

export interface PrivacySettings {
  readonly excludeFields: NamedFields;
  readonly hashFields?: NamedFields | undefined;
  readonly hashKey?: { reveal(): string } | undefined;
}

/** Fields by which rows, events and operations are found: never left out or hashed. */
export const KEY_FIELDS: ReadonlySet<string> = new Set(
  COLLECTIONS.flatMap((each) =>
    each.kind === 'single' ? ['id', 'user_id'] : [each.keyField, each.parent?.column ?? 'id'],
  ),
);

/** Collections whose fields an operation's payload and answer may contain (docs/privacy.md, "Events and operations"). */
export const COLLECTIONS_OF: Readonly<Record<OperationName, readonly CollectionName[]>> = {
  research: ['research_jobs'],
  sequence: ['research_jobs'],
  bulk_research: ['bulk_research_jobs', 'research_jobs'],
  list: ['lists', 'list_items'],
  list_analyze: ['lists', 'list_items'],
  // These two make no row.
  enrich: COLLECTION_NAMES,
  clay_enrich: COLLECTION_NAMES,
};

const ANY_DEPTH = '**.';
/** Deeper levels are replaced by null. */
const MOST_LEVELS = 500;
const ENVELOPE = new Set(['id', 'type', 'created_at', 'data']);
const HASHED = /^"[0-9a-f]{64}"$/;
/** Length of the prefix by which a quoted value is found, in letters and digits: the answer may have cut it. */
const MOST_QUOTED = 8;
/** Shorter values are in too many words. */
const LEAST_QUOTED = 4;

/** What to do with a field; undefined: it stays. */
type Change = (name: string, level: number) => 'drop' | 'hash' | undefined;

/** Leaves out and hashes fields of the service's texts and of payloads before they are stored or quoted. */
export class Privacy {
  readonly #settings: PrivacySettings;
  /** Changes of items, of the collections that have any. */
  readonly #ofItems: ReadonlyMap<CollectionName, Change>;

  constructor(settings: PrivacySettings) {
    this.#settings = settings;
    const concerned = COLLECTION_NAMES.filter(
      (name) => this.#fields('drop', name).length + this.#fields('hash', name).length > 0,
    );
    this.#ofItems = new Map(concerned.map((name) => [name, this.#named([name], false)]));
  }

  /** Fields are left out or hashed. The service's messages are then not quoted, since they may contain values. */
  get isOn(): boolean {
    return this.#ofItems.size > 0;
  }

  concerns(collections: readonly CollectionName[]): boolean {
    return collections.some((name) => this.#ofItems.has(name));
  }

  /** SHA-256 of the key; undefined without one. */
  get keyFingerprint(): string | undefined {
    const key = this.#settings.hashKey;
    return key && hash('sha256', `key of hashes\n${key.reveal()}`, 'hex');
  }

  /** Equal for rules that hash equally; '' if no field is hashed. */
  hashRule(collection: CollectionName): string {
    const fields = this.#fields('hash', collection).toSorted();
    return fields.length === 0 ? '' : JSON.stringify([fields, this.keyFingerprint]);
  }

  /** @param stored the text is from the database: what looks like a hash is one */
  item(collection: CollectionName, source: string, stored = false): string {
    const named = this.#ofItems.get(collection);
    return named === undefined ? source : this.#rewrite(source, named, stored);
  }

  /** @param rows the rows that the event names */
  event(rows: readonly Pick<HintedRow, 'collection'>[], type: string | undefined, source: string): string {
    const bulk = type?.startsWith('bulk') === true ? (['research_jobs'] as const) : [];
    const collections = rows.length === 0 ? COLLECTION_NAMES : [...rows.map((row) => row.collection), ...bulk];
    if (!this.concerns(collections)) return source;
    const named = this.#named(collections, true);
    return this.#rewrite(source, (name, level) => (level === 0 && ENVELOPE.has(name) ? undefined : named(name, level)));
  }

  payload(operation: OperationName, source: string): string {
    const collections = COLLECTIONS_OF[operation];
    return this.concerns(collections) ? this.#rewrite(source, this.#named(collections, true)) : source;
  }

  /**
   * What may be kept of an operation's answer. If it quotes a value of the payload that is not stored, whole or cut, in
   * any spelling, only its keys are kept.
   * @returns undefined if the answer is no JSON: it may quote in any way
   */
  answer(operation: OperationName, payload: string, body: string): string | undefined {
    const collections = COLLECTIONS_OF[operation];
    if (!this.concerns(collections)) return body;
    if (!isJson(body)) return undefined;
    const gone: string[] = [];
    const named = this.#named(collections, true);
    this.#rewrite(payload, named, false, (value) => gone.push(...words(value)));
    const begins = gone
      .map((value) => plain(value).slice(0, MOST_QUOTED))
      .filter(({ length }) => length >= LEAST_QUOTED);
    const isQuoted = (text: string): boolean => begins.some((begin) => plain(text).includes(begin));
    const left = this.#rewrite(body, named);
    if (!isQuoted(left)) return left;
    const keys = left.startsWith('{') ? [...fieldSources(left)] : [];
    const kept = keys.filter(([name, value]) => KEY_FIELDS.has(name) && (/^-?\d+$/.test(value) || !isQuoted(value)));
    return `{${kept.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
  }

  #fields(kind: 'drop' | 'hash', name: CollectionName): readonly string[] {
    const { excludeFields, hashFields } = this.#settings;
    return (kind === 'drop' ? excludeFields : hashFields)?.[name] ?? [];
  }

  /** @param everywhere fields of the top level are changed at any depth */
  #named(collections: readonly CollectionName[], everywhere: boolean): Change {
    const top = new Map<string, 'drop' | 'hash'>();
    const deep = new Map<string, 'drop' | 'hash'>();
    for (const kind of ['hash', 'drop'] as const) {
      for (const field of collections.flatMap((name) => this.#fields(kind, name))) {
        const isDeep = field.startsWith(ANY_DEPTH);
        const name = isDeep ? field.slice(ANY_DEPTH.length) : field;
        (isDeep || everywhere ? deep : top).set(name, kind);
      }
    }
    return (name, level) => {
      const change = level === 0 ? top.get(name) : undefined;
      return change === 'drop' ? change : (deep.get(name) ?? change);
    };
  }

  #rewrite(source: string, named: Change, stored = false, onGone?: (value: string) => void, level = 0): string {
    const text = source.trim();
    const inner = (value: string): string => this.#rewrite(value, named, stored, onGone, level + 1);
    const isObject = text.startsWith('{');
    if (!isObject && !text.startsWith('[')) return text;
    if (level > MOST_LEVELS) return 'null';
    if (!isObject) return `[${sliceElements(text, []).map(inner).join(',')}]`;
    const members = [...fieldSources(text)].flatMap(([name, value]) => {
      const change = named(name, level);
      if (change !== undefined) onGone?.(value);
      if (change === 'drop') return [];
      if (change === undefined) return [`${JSON.stringify(name)}:${inner(value)}`];
      return [`${JSON.stringify(name)}:${stored && HASHED.test(value) ? value : this.#hashed(value)}`];
    });
    const left = `{${members.join(',')}}`;
    return level === 0 ? canonicalText(left) : left;
  }

  /**
   * Hashes a string by its characters in UTF-8, any other value by its canonical JSON text with numbers as `jsonb`
   * prints them, without trailing zeros. Nothing else goes in: equal values have equal hashes in all tables. Null stays
   * null.
   */
  #hashed(value: string): string {
    if (value === 'null') return value;
    const text = value.startsWith('"')
      ? (JSON.parse(value) as string)
      : canonicalText(value, undefined, (number) => shortest(jsonbNumber(number)));
    const key = this.#settings.hashKey;
    if (key === undefined) throw new RangeError('fields can’t be hashed without a key');
    return `"${createHmac('sha256', key.reveal()).update(text).digest('hex')}"`;
  }
}

/** Everything is stored. */
export const NO_PRIVACY = new Privacy({
  excludeFields: Object.fromEntries(COLLECTION_NAMES.map((name) => [name, []])) as unknown as NamedFields,
});

/** 1 for 1.0: SQL takes them as equal. */
function shortest(number: string): string {
  return number.includes('.') ? number.replace(/\.?0+$/, '') : number;
}

/** What an answer may quote of a JSON value: its strings and numbers, and names that don't look like a field's. */
function words(source: string): string[] {
  const text = source.trim();
  if (text.startsWith('"')) return [JSON.parse(text) as string];
  if (text.startsWith('{'))
    return [...fieldSources(text)].flatMap(([name, value]) => [
      ...(/^[A-Za-z_]*$/.test(name) ? [] : [name]),
      ...words(value),
    ]);
  if (text.startsWith('[')) return sliceElements(text, []).flatMap(words);
  return /^[-\d]/.test(text) ? [text] : [];
}

/** Letters and digits in lower case: equal for all spellings in JSON, in a URL, in a sentence. */
function plain(text: string): string {
  return text
    .replaceAll(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)))
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '');
}
