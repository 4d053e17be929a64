import type { AnswerHeaders } from '../budget/budget.ts';
import { MalformedAnswer } from '../model/errors.ts';
import type { KeyType } from '../model/collections.ts';
import { fieldSource, sliceElements } from '../model/json/json-text.ts';
import { readKey, type KeyReading } from '../model/key.ts';
import type { Item, Page, Served } from '../model/page.ts';
import { stateOf } from '../model/row-state.ts';
import { errorInside } from './service-message.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/** One object as the service answered it, with its own source text, from which no digit is lost. */
export interface ObjectAnswer {
  readonly source: string;
  readonly fields: JsonObject;
  /** Left out: nothing is known of it. */
  readonly served?: Served;
}

/**
 * The page in the body of a 2xx answer (specification 2.5, invariant 2).
 * @param keyField the items' cursor ID; an item without a usable one is on the page, with its problem
 * @throws MalformedAnswer, saying what is wrong, for everything that is not provably a complete list envelope
 */
export function readPage(text: string, keyField: string, keyType: KeyType): Page {
  const body = readObject(text).fields;
  const { path, elements, envelope } = findList(body);
  const wrong = elements.findIndex((element) => !isObject(element));
  if (wrong !== -1) throw malformed(`item ${wrong} is ${kind(elements[wrong])}, not an object`);
  const sources = sliceElements(text, path);
  if (sources.length !== elements.length) {
    throw malformed(`${elements.length} items were parsed, but ${sources.length} stand in the text`);
  }
  return {
    items: (elements as readonly JsonObject[]).map((fields, index) =>
      readItem(fields, sources[index] ?? '', keyField, keyType),
    ),
    ...readOnward(text, path, envelope),
  };
}

/**
 * What the envelope says of what follows. A cursor that can be neither sent nor stored (U+0000, a lone surrogate)
 * only says that something follows: the walk goes on after the last item's ID.
 */
function readOnward(
  text: string,
  path: readonly string[],
  envelope: JsonObject,
): Pick<Page, 'hasMore' | 'nextCursor'> {
  const hasMore = typeof envelope['has_more'] === 'boolean' ? envelope['has_more'] : undefined;
  const nextCursor = readCursor(text, path, envelope['next_cursor']);
  if (typeof nextCursor !== 'string' || isSendable(nextCursor)) return { hasMore, nextCursor };
  return { hasMore: hasMore ?? true, nextCursor: undefined };
}

function isSendable(cursor: string): boolean {
  return cursor.isWellFormed() && !cursor.includes('\0');
}

/**
 * The object in the body of a 2xx answer.
 * @throws MalformedAnswer for anything but one JSON object, and for an error inside
 */
export function readObject(text: string): ObjectAnswer {
  if (text.trim() === '') throw malformed('the body is empty');
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    // V8's message quotes the text, which is the user's data.
    if (text.trimStart().startsWith('<')) throw malformed('the body is HTML');
    const { message } = error as SyntaxError;
    const position = /at position (\d+)/.exec(message)?.[1] ?? -1;
    const early = message.startsWith('Unexpected end') || Number(position) >= text.length;
    throw malformed(
      early ? `the body is JSON that ends early (${text.length} characters)` : 'the body is not JSON',
    );
  }
  if (!isObject(body)) throw malformed(`the body is ${kind(body)}, not an object`);
  const inside = errorInside(body);
  if (inside !== undefined) throw malformed(`the body is an error: ${inside}`);
  return { source: text, fields: body };
}

/** What headers say of intermediate caches (RFC 9111): `Age`, where one had the answer, and the service's `Date`. */
export function servedBy(headers: AnswerHeaders): Served {
  const date = Date.parse(first(headers['date']) ?? '');
  const age = /^\s*(\d{1,10})\s*(?:,|$)/.exec(first(headers['age']) ?? '')?.[1];
  return { date: Number.isNaN(date) ? undefined : date, ageMs: Number(age ?? 0) * 1_000 };
}

function first(value: AnswerHeaders[string]): string | undefined {
  return typeof value === 'string' ? value : value?.[0];
}

interface List {
  /** Field names that lead from the body to the array. */
  readonly path: readonly string[];
  readonly elements: readonly unknown[];
  /** The object that has the array, `has_more` and perhaps `next_cursor`. */
  readonly envelope: JsonObject;
}

/**
 * `data` of the body; else the only array of objects next to a `has_more`, in the body or one level deeper
 * (docs/design/open-questions.md, "Lists": list items may be under `accounts`). In a body with `object: "list"`, a
 * `data` one level deeper counts without `has_more`, too.
 */
function findList(body: JsonObject): List {
  const data = body['data'];
  if (Array.isArray(data)) return { path: ['data'], elements: data, envelope: body };
  const envelopes: { path: readonly string[]; envelope: JsonObject }[] = [{ path: [], envelope: body }];
  for (const [field, value] of Object.entries(body)) {
    if (isObject(value)) envelopes.push({ path: [field], envelope: value });
  }
  const found = envelopes
    .filter(({ envelope }) => {
      if (typeof envelope['has_more'] === 'boolean') return true;
      return body['object'] === 'list' && Array.isArray(envelope['data']);
    })
    .flatMap(({ path, envelope }) =>
      arraysOfObjects(envelope).map(([field, elements]) => ({ path: [...path, field], elements, envelope })),
    );
  const [list, another] = found;
  if (list === undefined) throw malformed('it has neither a data array nor a list beside a has_more');
  if (another !== undefined) {
    throw malformed(`it has several lists (${list.path.join('.')}, ${another.path.join('.')})`);
  }
  return list;
}

/** Fields of an envelope that may be its list: `data` if it is an array, else all arrays that may be of objects. */
function arraysOfObjects(envelope: JsonObject): [string, readonly unknown[]][] {
  const arrays = Object.entries(envelope).filter((entry): entry is [string, unknown[]] =>
    Array.isArray(entry[1]),
  );
  const data = arrays.filter(([field]) => field === 'data');
  if (data.length > 0) return data;
  return arrays.filter(([, elements]) => elements.length === 0 || elements.some(isObject));
}

function readItem(fields: JsonObject, source: string, keyField: string, keyType: KeyType): Item {
  const reading = readItemKey(fields[keyField], source, keyField, keyType);
  const state = stateOf(fields);
  return 'key' in reading
    ? { source, state, key: reading.key, problem: undefined }
    : { source, state, key: undefined, problem: reading.problem };
}

/** Looks at the item's text only where JSON.parse may have lost digits. */
function readItemKey(value: unknown, source: string, keyField: string, keyType: KeyType): KeyReading {
  if (typeof value === 'string' || Number.isSafeInteger(value)) {
    return readKey(keyType, JSON.stringify(value));
  }
  return readKey(keyType, fieldSource(source, keyField));
}

/** A cursor that the server offers: a string, or a number with all its digits; null: none; undefined: not said. */
function readCursor(text: string, path: readonly string[], value: unknown): string | null | undefined {
  if (value === null || value === '') return null;
  if (typeof value === 'string') return value;
  if (typeof value !== 'number') return undefined;
  if (Number.isSafeInteger(value)) return String(value);
  const envelope = path.slice(0, -1).reduce((source, field) => fieldSource(source, field) ?? '', text);
  return fieldSource(envelope, 'next_cursor');
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function kind(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`;
}

function malformed(what: string): MalformedAnswer {
  return new MalformedAnswer(what);
}
