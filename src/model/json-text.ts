import { MalformedAnswer } from './errors.ts';

// Source text of JSON values, cut out of a document: JSON.parse loses digits of numbers, spelling and duplicate fields
// (docs/design/writing-a-page.md, "Parse"). Every function expects text that JSON.parse has accepted. Other text gives
// meaningless results, but never an endless loop or a stack overflow.

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/** Deeper levels are copied as they stand, so that no nesting overflows the stack. */
const MAX_CANONICAL_DEPTH = 500;
/** A scalar other than a string is a number if its first character is not greater. */
const NINE = 57;

/**
 * Source texts of an array's elements.
 * @param path field names from the document's root to the array; [] for the root itself
 * @throws RangeError if no array is at the path; MalformedAnswer if a name occurs twice in an object on the way
 */
export function sliceElements(text: string, path: readonly string[]): string[] {
  let at = valueStart(text, 0);
  for (const field of path.slice(0, -1)) {
    const isObject = text.charCodeAt(at) === OPEN_BRACE;
    at = (isObject ? findField(text, at, field, namesOnce()) : undefined)?.start ?? text.length;
  }
  const last = path.at(-1);
  const elements = last === undefined ? cutArray(text, at)?.elements : arrayField(text, at, last);
  if (elements === undefined) throw new RangeError(`no array at /${path.join('/')}`);
  return elements;
}

/** @throws MalformedAnswer if a name occurs twice in the object: it is unknown which value counts */
export function refuseRepeatedNames(objectSource: string): void {
  const at = valueStart(objectSource, 0);
  if (objectSource.charCodeAt(at) === OPEN_BRACE) eachMember(objectSource, at, namesOnce());
}

function namesOnce(): (name: string) => void {
  const seen = new Set<string>();
  return (name) => {
    const literal = canonicalString(name);
    if (seen.has(literal)) throw new MalformedAnswer(`the name ${literal.slice(0, 80)} occurs twice in an object`);
    seen.add(literal);
  };
}

/** Elements of a field's array, cut while its end is searched: the array is nearly all of the text. */
function arrayField(text: string, at: number, field: string): string[] | undefined {
  if (text.charCodeAt(at) !== OPEN_BRACE) return undefined;
  const literal = JSON.stringify(field);
  let elements: string[] | undefined;
  eachMember(text, at, namesOnce(), (name, start) => {
    if (canonicalString(name) !== literal) return valueEnd(text, start);
    const cut = cutArray(text, start);
    elements = cut?.elements;
    return cut?.end ?? valueEnd(text, start);
  });
  return elements;
}

function cutArray(text: string, open: number): { elements: string[]; end: number } | undefined {
  if (text.charCodeAt(open) !== OPEN_BRACKET) return undefined;
  const elements: string[] = [];
  let at = valueStart(text, open + 1);
  while (at < text.length && text.charCodeAt(at) !== CLOSE_BRACKET) {
    const end = valueEnd(text, at);
    // Not JSON: the loop would not end.
    if (end === at) return undefined;
    elements.push(text.slice(at, end));
    at = valueStart(text, end);
    if (text.charCodeAt(at) === COMMA) at = valueStart(text, at + 1);
  }
  return { elements, end: at + 1 };
}

/**
 * Source text of a top-level field's value; of duplicates the last one, like JSON.parse.
 * @returns undefined if the item is no object or lacks the field
 */
export function fieldSource(itemSource: string, field: string): string | undefined {
  const at = valueStart(itemSource, 0);
  if (itemSource.charCodeAt(at) !== OPEN_BRACE) return undefined;
  const found = findField(itemSource, at, field);
  return found === undefined ? undefined : itemSource.slice(found.start, found.end);
}

/** Source texts of all top-level fields, in their order; of duplicates the last value. */
export function fieldSources(itemSource: string): Map<string, string> {
  const sources = new Map<string, string>();
  const at = valueStart(itemSource, 0);
  if (itemSource.charCodeAt(at) !== OPEN_BRACE) return sources;
  eachMember(itemSource, at, (name, start, end) => {
    const field = name.includes('\\') ? (JSON.parse(name) as string) : name.slice(1, -1);
    sources.set(field, itemSource.slice(start, end));
  });
  return sources;
}

/**
 * One text for all spellings of a value: white space, order of fields, superseded duplicates and escapes in strings
 * make no difference. Numbers keep their source text: parsed, 2⁵³ and 2⁵³+1 are equal. The result is JSON of the same
 * value.
 * @param leaveOut top-level fields that it omits
 * @param spell respells a number
 */
export function canonicalText(
  source: string,
  leaveOut?: ReadonlySet<string>,
  spell = (number: string): string => number,
): string {
  return canonical(source, { at: valueStart(source, 0), spell, leaveOut }, 0);
}

/** Where the next value begins, and the options of `canonicalText`. */
interface Place {
  at: number;
  readonly spell: (number: string) => string;
  readonly leaveOut: ReadonlySet<string> | undefined;
}

/** Reads the value at `place.at`, and moves that behind it. */
function canonical(text: string, place: Place, depth: number): string {
  const start = place.at;
  const first = text.charCodeAt(start);
  if (first === QUOTE) {
    place.at = stringEnd(text, start);
    return canonicalString(text.slice(start, place.at));
  }
  const container = first === OPEN_BRACE || first === OPEN_BRACKET;
  if (!container || depth >= MAX_CANONICAL_DEPTH) {
    place.at = valueEnd(text, start);
    const value = text.slice(start, place.at);
    return first <= NINE ? place.spell(value) : value;
  }
  return first === OPEN_BRACE ? canonicalObject(text, place, depth) : canonicalArray(text, place, depth);
}

function canonicalArray(text: string, place: Place, depth: number): string {
  let result = '[';
  place.at = valueStart(text, place.at + 1);
  while (place.at < text.length && text.charCodeAt(place.at) !== CLOSE_BRACKET) {
    if (result.length > 1) result += ',';
    result += canonical(text, place, depth + 1);
    place.at = valueStart(text, place.at);
    if (text.charCodeAt(place.at) === COMMA) place.at = valueStart(text, place.at + 1);
  }
  place.at += 1;
  return `${result}]`;
}

function canonicalObject(text: string, place: Place, depth: number): string {
  const names: string[] = [];
  const values: string[] = [];
  const leaveOut = depth === 0 && place.leaveOut?.size !== 0 ? place.leaveOut : undefined;
  place.at = valueStart(text, place.at + 1);
  while (place.at < text.length && text.charCodeAt(place.at) === QUOTE) {
    const nameEnd = stringEnd(text, place.at);
    const name = canonicalString(text.slice(place.at, nameEnd));
    place.at = valueStart(text, afterColon(text, nameEnd));
    if (leaveOut?.has(JSON.parse(name) as string) === true) {
      place.at = valueEnd(text, place.at);
    } else {
      names.push(name);
      values.push(canonical(text, place, depth + 1));
    }
    place.at = valueStart(text, place.at);
    if (text.charCodeAt(place.at) === COMMA) place.at = valueStart(text, place.at + 1);
  }
  place.at += 1;
  let result = '{';
  for (const index of canonicalOrder(names)) {
    if (result.length > 1) result += ',';
    result += `${names[index] ?? ''}:${values[index] ?? ''}`;
  }
  return `${result}}`;
}

/** Most orders in the cache, and most characters of one's names. */
const MOST_ORDERS = 1000;
const MOST_CHARACTERS = 4000;
/** By the joined names. The items of a collection share them, and sorting takes as long as reading an item. */
const orders = new Map<string, readonly number[]>();

/** Indexes of `names` in canonical order; of duplicates only the last one's. */
function canonicalOrder(names: readonly string[]): readonly number[] {
  // A single name is a slice, which would keep the whole page in memory; joined names are a copy.
  if (names.length < 2) return names.length === 0 ? [] : [0];
  const key = names.join('');
  const known = orders.get(key);
  if (known !== undefined) return known;
  const last = new Map(names.map((name, index) => [name, index]));
  const order = [...last].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, index]) => index);
  if (orders.size === MOST_ORDERS) orders.clear();
  if (key.length <= MOST_CHARACTERS) orders.set(key, order);
  return order;
}

/** A string literal in JSON.stringify's spelling. Most have no escapes, and stay. */
function canonicalString(literal: string): string {
  return literal.includes('\\') ? JSON.stringify(JSON.parse(literal)) : literal;
}

/** Start and end of the value of `field` in the object that opens at `at`; of duplicates the last one's. */
function findField(
  text: string,
  at: number,
  field: string,
  visit?: (name: string) => void,
): { start: number; end: number } | undefined {
  const literal = JSON.stringify(field);
  let found: { start: number; end: number } | undefined;
  eachMember(text, at, (name, start, end) => {
    visit?.(name);
    if (canonicalString(name) === literal) found = { start, end };
  });
  return found;
}

/**
 * Calls `visit` for each member of the object that opens at `at`: name as spelled, start and end of the value.
 * @param endOf finds the end of the value that begins at `start`
 */
function eachMember(
  text: string,
  at: number,
  visit: (name: string, start: number, end: number) => void,
  endOf = (_name: string, start: number): number => valueEnd(text, start),
): void {
  let next = valueStart(text, at + 1);
  while (next < text.length && text.charCodeAt(next) === QUOTE) {
    const nameEnd = stringEnd(text, next);
    const start = valueStart(text, afterColon(text, nameEnd));
    const name = text.slice(next, nameEnd);
    const end = endOf(name, start);
    visit(name, start, end);
    next = valueStart(text, end);
    if (text.charCodeAt(next) === COMMA) next = valueStart(text, next + 1);
  }
}

/** Skips white space. */
function valueStart(text: string, at: number): number {
  let next = at;
  while (isSpace(text.charCodeAt(next))) next += 1;
  return next;
}

function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}

/** The index behind the value that begins at `at`. */
function valueEnd(text: string, at: number): number {
  const first = text.charCodeAt(at);
  if (first === QUOTE) return stringEnd(text, at);
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return scalarEnd(text, at);
  let depth = 0;
  let next = at;
  while (next < text.length) {
    const code = text.charCodeAt(next);
    if (code === QUOTE) {
      next = stringEnd(text, next);
    } else {
      next += 1;
      // Braces and brackets differ in bit 5 only.
      const shape = code & ~32;
      if (shape === OPEN_BRACKET) depth += 1;
      else if (shape === CLOSE_BRACKET && (depth -= 1) === 0) return next;
    }
  }
  return text.length;
}

/** The index behind a number, true, false or null. */
function scalarEnd(text: string, at: number): number {
  let next = at;
  while (next < text.length) {
    const code = text.charCodeAt(next);
    if (code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET || isSpace(code)) break;
    next += 1;
  }
  return next;
}

/** The index behind the string literal whose opening quote is at `at`. */
function stringEnd(text: string, at: number): number {
  let quote = text.indexOf('"', at + 1);
  while (quote !== -1) {
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
    quote = text.indexOf('"', quote + 1);
  }
  return text.length;
}

/** The index behind the colon that follows a name; the text's end without one. */
function afterColon(text: string, at: number): number {
  const colon = valueStart(text, at);
  return text.charCodeAt(colon) === COLON ? colon + 1 : text.length;
}
