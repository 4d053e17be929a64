import type { ClassifiedError } from '@research-mirror/runtime/errors';
import type { KeyType } from '../model/collections.ts';
import { KeyRefused, MalformedAnswer, RateLimited, RequestRefused, ServiceError } from '../model/errors.ts';
import { fieldSource, refuseRepeatedNames, sliceElements } from '../model/json-text.ts';
import { readKey } from '../model/key.ts';
import { type Item, type Page, type AnswerDate, stateOf } from '../model/page.ts';
import type { Privacy } from '../model/privacy.ts';
import { type AnswerHeaders, headerField, pauseAfter, readRateHeaders } from './rate-headers.ts';
import type { HttpAnswer } from './transport.ts';

/**
 * The meaning of an answer by its status alone; undefined for a 2xx.
 * @param what the request, for the message: `GET /v1/lists/7`
 * @param now wall clock in ms, for a Retry-After that is a date
 * @param privacy if it is on, the service's words are not quoted: they may repeat the value of a private field
 */
export function refusal(
  what: string,
  { status, headers, text }: Pick<HttpAnswer, 'status' | 'headers' | 'text'>,
  scrub: (text: string) => string,
  now: number,
  privacy?: Pick<Privacy, 'isOn'>,
): ClassifiedError | undefined {
  if (status >= 200 && status < 300) return undefined;
  const said = privacy?.isOn === true ? '' : quote(serviceMessage(text), scrub);
  const message = `${what} returned ${status}${said === '' ? '' : `: ${said}`}`;
  if (status === 429) return new RateLimited(message, pauseAfter(readRateHeaders(headers, now)) / 1000);
  if (status >= 500 || status === 408 || status === 425) return new ServiceError(message, status);
  if (status === 401 || status === 403) return new KeyRefused(message, status);
  const redirect = ` (a redirect to ${redirectHost(headers)}, which is not followed with a key). Set MIRROR_API_URL to the service itself`;
  return new RequestRefused(`${message}${status >= 300 && status < 400 ? redirect : ''}`, status);
}

/** The target of a redirect, without path and query, which may hold secrets. */
function redirectHost(headers: AnswerHeaders): string {
  const location = headers['location'];
  if (typeof location !== 'string') return 'nowhere';
  if (!URL.canParse(location)) return location.startsWith('/') ? 'another path' : 'no address';
  return new URL(location).origin;
}

/**
 * The message in the body of a refusal: `{error: {code, message}}`, `{detail}`, `{detail: […]}`, `{message}`, text, or
 * the title of an HTML page (docs/design/open-questions.md, "Errors and keys"). '' if there is none. Raw: see `quote`.
 */
export function serviceMessage(text: string): string {
  const body = text.trim();
  if (body.startsWith('<')) return /<title[^>]*>([^<]*)/i.exec(body)?.[1] ?? '';
  try {
    return messageIn(JSON.parse(body), 0);
  } catch {
    return body;
  }
}

/**
 * The error in a 2xx body, if any. Empty fields do not count: many services send `"error": null`, `"errors": []` or
 * `"error": 0` with every answer. Raw: see `quote`.
 */
export function errorInside(body: Readonly<Record<string, unknown>>): string | undefined {
  const error = [body['error'], body['errors']].find((value) => !isEmpty(value));
  if (error === undefined && body['object'] !== 'error' && body['success'] !== false) return undefined;
  return messageIn(error ?? { ...body, error: undefined, errors: undefined }, 0) || 'without a message';
}

/** `null`, `false`, `0`, white space, `[]`, `{}`, or a missing field. */
function isEmpty(value: unknown): boolean {
  if (typeof value === 'string') return value.trim() === '';
  if (typeof value !== 'object' || value === null) return !(value ?? false);
  return Object.keys(value).length === 0;
}

/** Fields in which services explain errors, the clearest first. */
const MESSAGE_FIELDS = ['error', 'errors', 'message', 'msg', 'detail', 'title', 'description', 'code'] as const;

function messageIn(value: unknown, depth: number): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'object' || value === null || depth > 4) return '';
  if (Array.isArray(value)) {
    return value
      .slice(0, 3)
      .map((each) => messageIn(each, depth + 1))
      .filter((each) => each !== '')
      .join('; ');
  }
  const fields = value as Readonly<Record<string, unknown>>;
  // FastAPI's {loc: ['query', 'limit'], msg: 'must be …'}.
  const parts = Array.isArray(fields['loc']) ? fields['loc'].filter((part) => typeof part !== 'object') : [];
  const where = parts.length === 0 ? '' : `${parts.join('.')}: `;
  for (const field of MESSAGE_FIELDS) {
    const text = messageIn(fields[field], depth + 1);
    if (text === '') continue;
    const code = field === 'message' && typeof fields['code'] === 'string' ? ` (${fields['code']})` : '';
    return `${where}${text}${code}`;
  }
  return '';
}

/**
 * The service's words, fit for a message of ours: one line of at most 200 characters, without control characters and
 * without secrets (scrubbed before the cut, so that no part of one stays).
 */
export function quote(words: string, scrub: (text: string) => string): string {
  const clean = scrub(words)
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim();
  return clean.length <= 200 ? clean : `${clean.slice(0, 199).toWellFormed()}…`;
}

type JsonObject = Readonly<Record<string, unknown>>;

/** An object as the service answered it, with its source text, which has every digit. */
export interface ObjectAnswer {
  readonly source: string;
  readonly fields: JsonObject;
  /** Left out: unknown. */
  readonly served?: AnswerDate;
}

/**
 * Reads the page in the body of a 200 (specification 2.5, invariant 2).
 * @param keyField the items' cursor ID; an item without a usable one is on the page, with its problem
 * @throws MalformedAnswer, saying what is wrong, unless the body is provably a complete list envelope
 */
export function readPage(text: string, keyField: string, keyType: KeyType): Page {
  const list = findList(parseObject(text));
  const { path, elements, envelope } = list;
  const hasMore = refuseOtherClaims(list);
  const wrong = elements.findIndex((element) => !isObject(element));
  if (wrong !== -1) throw new MalformedAnswer(`item ${wrong} is ${kind(elements[wrong])}, not an object`);
  const sources = sliceElements(text, path);
  if (sources.length !== elements.length) {
    throw new MalformedAnswer(`${elements.length} items were parsed, but the text has ${sources.length}`);
  }
  const items = (elements as readonly JsonObject[]).map((fields, index) =>
    readItem(fields, sources[index] ?? '', keyField, keyType),
  );
  const nextCursor = readCursor(text, path, envelope['next_cursor']);
  const isUsable = !nextCursor || (nextCursor.isWellFormed() && !nextCursor.includes('\0'));
  if (isUsable) return { items, hasMore, nextCursor };
  // It can be neither sent nor stored, and only says that something follows: the last item's ID is the cursor.
  return { items, hasMore: hasMore ?? true, nextCursor: undefined };
}

/** Reads the object in the body of a 200. @throws MalformedAnswer, also for an error inside and a repeated name */
export function readObject(text: string): ObjectAnswer {
  const fields = parseObject(text);
  refuseRepeatedNames(text);
  return { source: text, fields };
}

function parseObject(text: string): JsonObject {
  if (text.trim() === '') throw new MalformedAnswer('the body is empty');
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    if (text.trimStart().startsWith('<')) throw new MalformedAnswer('the body is HTML');
    // V8's message quotes the text, which is the user's data.
    const { message } = error as SyntaxError;
    const position = /at position (\d+)/.exec(message)?.[1] ?? -1;
    const early = message.startsWith('Unexpected end') || Number(position) >= text.length;
    throw new MalformedAnswer(
      early ? `the body is JSON that ends early (${text.length} characters)` : 'the body is not JSON',
    );
  }
  if (!isObject(body)) throw new MalformedAnswer(`the body is ${kind(body)}, not an object`);
  refuseError(body);
  return body;
}

function refuseError(body: JsonObject): void {
  const inside = errorInside(body);
  if (inside !== undefined) throw new MalformedAnswer(`the body is an error: ${inside}`);
}

/** Fields that say that an answer is a part, by their `plain` names. */
const PART = /^(is|has)?(partial|truncated|incomplete|timedout)(results?|data|response|list|page)?$/;
const PART_STATUS = /^(error|fail|failed|failure|partial|incomplete|truncated|timeout)$/i;
/** Fields with the number of items of the whole list. */
const TOTAL = /^(total|count|numfound|total(count|items|results|records|rows|size)|(item|result|record)s?count)$/;
/** Objects beside the array that describe the answer. */
const ABOUT = /^(meta|metadata|page|paging|pagination|pageinfo)$/;

/**
 * Refuses a page whose fields beside the array say that it is no list, an error or a part, or contradict each other
 * (docs/design/writing-a-page.md, "Parse").
 * @returns the `has_more` of the object that has the array, else of the one around it
 */
function refuseOtherClaims({ path, envelope, around }: ReturnType<typeof findList>): boolean | undefined {
  const object = envelope['object'] ?? 'list';
  if (!/^list$/i.test(show(object).slice(1, -1)))
    throw new MalformedAnswer(`its "object" is ${show(object)}, not "list"`);
  for (const beside of aboutAnswer(around)) {
    refuseError(beside);
    const part = Object.entries(beside).find((entry) => saysPart(beside, ...entry));
    if (part !== undefined) throw new MalformedAnswer(`it says that it is partial: "${part[0]}" is ${show(part[1])}`);
  }
  const read = new Set(['object', 'hasmore', 'nextcursor', ...path.map(plain)]);
  for (const one of around) {
    for (const [short, alike] of Map.groupBy(Object.entries(one), ([name]) => plain(name))) {
      if (alike.length === 1 || !read.has(short)) continue;
      if (new Set(alike.map(([, value]) => show(value))).size > 1)
        throw contradiction(`"${alike.at(-1)?.[0]}" occurs twice in different spellings`);
    }
  }
  const said = around.map((one) => one['has_more']).filter((value) => typeof value === 'boolean');
  if (new Set(said).size > 1) throw contradiction('"has_more" is both true and false');
  return said[0];
}

function saysPart(beside: JsonObject, name: string, value: unknown): boolean {
  const short = plain(name);
  if (PART.test(short)) return isTrue(value);
  // A list with its items in it has a state of its own.
  if ('id' in beside || 'list_id' in beside) return false;
  if (short === 'complete' || short === 'iscomplete') return value === false;
  if (!/^(http)?status(code)?$/.test(short)) return false;
  return typeof value === 'number' ? value === 206 || value >= 400 : PART_STATUS.test(String(value));
}

function isTrue(value: unknown): boolean {
  if (typeof value === 'string') return !/^\s*(false|no|none|0)?\s*$/i.test(value);
  return value instanceof Object ? Object.keys(value).length > 0 : Boolean(value);
}

/**
 * Refuses the text of a first and last page without items that also says that the list has items. (Other totals may
 * count something else, or be estimates.) @throws MalformedAnswer
 */
export function refuseFalseEnd(text: string, headers: AnswerHeaders): void {
  const { around } = findList(parseObject(text));
  const claims = aboutAnswer(around)
    .flatMap((beside) => Object.entries(beside))
    .filter(([name]) => TOTAL.test(plain(name)))
    .concat([
      ['X-Total-Count', headerField(headers, 'x-total-count')],
      ['Content-Range', headerField(headers, 'content-range')?.split('/').at(-1)],
    ]);
  const more = claims.find(([, value]) => Number(value) > 0);
  if (more !== undefined) throw contradiction(`it has no item, but "${more[0]}" is ${show(more[1])}`);
  if (around.some((one) => isTrue(one['next_cursor']))) throw contradiction('it has no item, but a next_cursor');
}

/** The objects around a page's array, and those in them that describe the answer. */
function aboutAnswer(around: readonly JsonObject[]): JsonObject[] {
  const inside = around.flatMap((one) => Object.entries(one).filter(([name]) => ABOUT.test(plain(name))));
  return [...around, ...inside.map(([, value]) => value).filter(isObject)];
}

/** Without letter case, `_` and `-`. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, '');
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? '';
}

function contradiction(what: string): MalformedAnswer {
  return new MalformedAnswer(`it contradicts itself: ${what}`);
}

/** Seconds; greater values mean this one (RFC 9111, 1.2.2). */
const OLDEST_AGE = 2 ** 31;

/** Reads the headers of intermediate caches (RFC 9111): `Age`, if one had the answer, and the service's `Date`. */
export function servedBy(headers: AnswerHeaders): AnswerDate {
  const date = Date.parse(headerField(headers, 'date') ?? '');
  // Of several caches on the way, the one that kept it longest counts.
  const ages = [headers['age'] ?? []].flat().flatMap((each) => each.split(','));
  const age = Math.max(0, ...ages.filter((each) => /^\s*\d+\s*$/.test(each)).map(Number));
  return { date: Number.isNaN(date) ? undefined : date, ageMs: Math.min(age, OLDEST_AGE) * 1_000 };
}

/**
 * Finds `data` of the body; else the only array of objects next to a `has_more`, in the body or one level deeper
 * (docs/design/open-questions.md, "Lists": list items may be under `accounts`). In a body with `object: "list"`, a
 * `data` one level deeper counts without `has_more`, too.
 * @returns the array's elements and its field names from the body on; the object that has it, `has_more` and perhaps
 *   `next_cursor`; `around`: the body, and that object if it is another one
 */
function findList(body: JsonObject) {
  const elements: unknown = body['data'];
  if (Array.isArray(elements)) return { path: ['data'], elements, envelope: body, around: [body] };
  const inside = Object.entries(body).flatMap(([field, envelope]) =>
    isObject(envelope) ? [{ path: [field], envelope }] : [],
  );
  const found = [{ path: [], envelope: body }, ...inside]
    .filter(({ envelope }) => {
      if (typeof envelope['has_more'] === 'boolean') return true;
      return body['object'] === 'list' && Array.isArray(envelope['data']);
    })
    .flatMap(({ path, envelope }) => {
      const around = [...new Set([body, envelope])];
      return arraysOfObjects(envelope).map(([field, elements]) => {
        return { path: [...path, field], elements, envelope, around };
      });
    });
  const [list, another] = found;
  if (list === undefined) throw new MalformedAnswer('it has neither a data array nor a list next to a has_more');
  if (another !== undefined) {
    throw new MalformedAnswer(`it has several lists (${list.path.join('.')}, ${another.path.join('.')})`);
  }
  return list;
}

/** The fields of an envelope that may be its list: `data` if it is an array, else all arrays that may be of objects. */
function arraysOfObjects(envelope: JsonObject): [string, readonly unknown[]][] {
  const arrays = Object.entries(envelope).filter((entry): entry is [string, unknown[]] => Array.isArray(entry[1]));
  const data = arrays.filter(([field]) => field === 'data');
  if (data.length > 0) return data;
  return arrays.filter(([, elements]) => elements.length === 0 || elements.some(isObject));
}

function readItem(fields: JsonObject, source: string, keyField: string, keyType: KeyType): Item {
  const value = fields[keyField];
  // JSON.parse may have lost digits of any other number.
  const isExact = typeof value === 'string' || Number.isSafeInteger(value);
  const reading = readKey(keyType, isExact ? JSON.stringify(value) : fieldSource(source, keyField));
  const state = stateOf(fields);
  return 'key' in reading
    ? { source, state, key: reading.key, problem: undefined }
    : { source, state, key: undefined, problem: reading.problem };
}

/** The server's cursor: a string, or a number with all its digits; null: none follows; undefined: not said. */
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
