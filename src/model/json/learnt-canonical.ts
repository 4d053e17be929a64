import { ItemFields, toCharacters } from './item-fields.ts';
import { CLOSE_BRACE, CLOSE_BRACKET, COMMA, isSpace, OPEN_BRACE, OPEN_BRACKET, QUOTE } from './json-scan.ts';
import { MOST_FIELDS, type Shape, shapeAt } from './object-shape.ts';

/** Objects nested deeper are left to `canonicalText`: each level may be read twice before it is learnt. */
const DEEPEST = 6;
/** Longer items are left to it, too. */
const MOST_CHARACTERS = 64 * 1024;
/** UTF-8 has three bytes at most for one character of a string. */
const MOST_BYTES = 3 * MOST_CHARACTERS;

const BACKSLASH = 92;
const COLON = 58;
const SLASH = 47;
const LETTER_U = 117;
const SPACE = 32;

/** The item that is read, as UTF-8. Objects in it are put in order where they stand, and spaces follow them. */
const text = Buffer.alloc(MOST_BYTES);
/** Where members are put in order. */
const ordered = Buffer.alloc(MOST_BYTES);
/** Its length. */
let length = 0;
/** The same as it was given. Of all instances: each would else keep the page that its item was cut out of. */
let given = '';

/** Numbers that are kept of a member: where its name and its value begin, and where the value ended and ends now. */
const KEPT = 4;
/** Members of the objects that are being read, one inside another. */
const members = new Int32Array((DEEPEST + 1) * MOST_FIELDS * KEPT);

/** Instead of an end: only `canonicalText` can do it. */
const IMPOSSIBLE = -1;
const UNKNOWN: Shape = {
  names: [],
  fields: [],
  places: new Map(),
  order: undefined,
  inner: [],
  other: undefined,
};

/** Which shape an object is read by. */
type Which = 'known' | 'other' | 'learnt';

/**
 * Canonical texts of items that resemble each other, as those of one collection do: which fields an object has, and
 * their order, is learnt from the one before it. So one pass over the bytes is enough: names are compared in place,
 * nothing is cut out, and members are moved only where they are not in order.
 */
export class LearntCanonical {
  readonly #root: (Shape | undefined)[] = [undefined];
  /** Behind the canonical text of the value that was read last. */
  #end = 0;

  /**
   * The same as `canonicalText`, as UTF-8.
   * @param source text that JSON.parse has accepted
   * @returns bytes that stand until the next call, of any instance; undefined where only `canonicalText` can do it
   */
  of(source: string): Uint8Array | undefined {
    if (source.length > MOST_CHARACTERS) return undefined;
    given = source;
    length = text.write(source);
    const begin = startOf(0);
    if (text[begin] !== OPEN_BRACE) return undefined;
    if (this.#object(begin, this.#root, 0, 0, 'known') === IMPOSSIBLE) return undefined;
    return text.subarray(begin, this.#end);
  }

  /** The fields of the item that `of` has just done. */
  fields(): ItemFields {
    const { fields, places } = this.#root[0] ?? UNKNOWN;
    // No typed array: of this size it is made outside of the heap, which takes longer than reading the item.
    const bounds: number[] = [];
    for (let member = 0; member < fields.length; member += 1) {
      bounds.push(members[member * KEPT + 1] ?? 0, members[member * KEPT + 2] ?? 0);
    }
    if (length !== given.length) toCharacters(bounds, given);
    return new ItemFields(given, fields, places, bounds);
  }

  /**
   * Reads the object that opens at `begin`, and puts it in order there.
   * @param place of its shape in `shapes`
   * @param which shape: that of the last object, the one before, or made of this very object
   * @returns the index behind it
   */
  #object(begin: number, shapes: (Shape | undefined)[], place: number, depth: number, which: Which): number {
    const { names, inner, order } = shapes[place] ?? UNKNOWN;
    const base = depth * MOST_FIELDS * KEPT;
    let isCompact = true;
    let count = 0;
    let at = startOf(begin + 1);
    if (at !== begin + 1) isCompact = false;
    while (text[at] === QUOTE && at < length) {
      const name = names[count];
      if (name === undefined || !isAt(name, at)) break;
      const nameEnd = at + name.length;
      const colon = startOf(nameEnd);
      const start = text[colon] === COLON ? startOf(colon + 1) : length;
      if (start !== nameEnd + 1) isCompact = false;
      const end = this.#value(start, inner, count, depth);
      if (end === IMPOSSIBLE) return IMPOSSIBLE;
      const member = base + count * KEPT;
      members[member] = at;
      members[member + 1] = start;
      members[member + 2] = end;
      members[member + 3] = this.#end;
      count += 1;
      at = startOf(end);
      if (at !== this.#end) isCompact = false;
      if (text[at] === COMMA) {
        const next = startOf(at + 1);
        if (next !== at + 1) isCompact = false;
        at = next;
      }
    }
    const isRead = count === names.length && text[at] !== QUOTE;
    if (!isRead || (which !== 'learnt' && count === 0)) {
      return this.#readAgain(begin, shapes, place, depth, which);
    }
    this.#end =
      isCompact && order === undefined
        ? at + 1
        : putInOrder(begin, base, names, order, Math.min(at + 1, length));
    return at + 1;
  }

  /** The object has other fields than were expected: by another shape. */
  #readAgain(
    begin: number,
    shapes: (Shape | undefined)[],
    place: number,
    depth: number,
    which: Which,
  ): number {
    const last = shapes[place];
    if (which === 'learnt') return IMPOSSIBLE;
    const next = which === 'known' && last?.other !== undefined ? 'other' : 'learnt';
    // What is inside may have been put in order: the whole item's fields are to be found as they were.
    if (depth === 0) text.write(given);
    const made = next === 'other' ? last?.other : shapeAt(text.toString('utf8', begin, length), 0);
    if (made === undefined) return IMPOSSIBLE;
    shapes[place] = { ...made, other: last === undefined ? undefined : { ...last, other: undefined } };
    return this.#object(begin, shapes, place, depth, next);
  }

  /** Reads the value that begins at `at`, likewise. */
  #value(at: number, shapes: (Shape | undefined)[], place: number, depth: number): number {
    const first = text[at];
    if (first === OPEN_BRACE) {
      return depth === DEEPEST ? IMPOSSIBLE : this.#object(at, shapes, place, depth + 1, 'known');
    }
    if (first === OPEN_BRACKET) return this.#array(at, shapes, place, depth);
    this.#end = first === QUOTE ? stringEnd(at) : scalarEnd(at);
    return this.#end;
  }

  /** Reads the array that opens at `begin`, likewise; its objects share a shape. */
  #array(begin: number, shapes: (Shape | undefined)[], place: number, depth: number): number {
    let to = begin + 1;
    let at = startOf(begin + 1);
    while (at < length && text[at] !== CLOSE_BRACKET) {
      if (text[at] === OPEN_BRACKET) return IMPOSSIBLE;
      const end = this.#value(at, shapes, place, depth);
      // No JSON: it would stand here for ever.
      if (end === IMPOSSIBLE || end === at) return IMPOSSIBLE;
      if (to > begin + 1) {
        text[to] = COMMA;
        to += 1;
      }
      if (to !== at) text.copyWithin(to, at, this.#end);
      to += this.#end - at;
      at = startOf(end);
      if (text[at] === COMMA) at = startOf(at + 1);
    }
    const end = Math.min(at + 1, length);
    text[to] = CLOSE_BRACKET;
    this.#end = to + 1;
    if (this.#end < end) text.fill(SPACE, this.#end, end);
    return end;
  }
}

/** @returns the index behind the object, which ended at `end` and is now as `canonicalText` spells it */
function putInOrder(
  begin: number,
  base: number,
  names: readonly Uint8Array[],
  order: readonly number[] | undefined,
  end: number,
): number {
  let to = 0;
  ordered[to] = OPEN_BRACE;
  for (let next = 0; next < names.length; next += 1) {
    const index = order === undefined ? next : (order[next] ?? 0);
    const member = base + index * KEPT;
    const [at = 0, start = 0, , valueEnd = 0] = [
      members[member],
      members[member + 1],
      0,
      members[member + 3],
    ];
    const nameEnd = at + (names[index]?.length ?? 0);
    if (next > 0) ordered[(to += 1)] = COMMA;
    to += 1;
    if (start === nameEnd + 1) {
      to += text.copy(ordered, to, at, valueEnd) - 1;
    } else {
      to += text.copy(ordered, to, at, nameEnd);
      ordered[to] = COLON;
      to += 1;
      to += text.copy(ordered, to, start, valueEnd) - 1;
    }
  }
  to += 1;
  ordered[to] = CLOSE_BRACE;
  ordered.copy(text, begin, 0, to + 1);
  const now = begin + to + 1;
  if (now < end) text.fill(SPACE, now, end);
  return now;
}

function isAt(name: Uint8Array, at: number): boolean {
  for (let next = 0; next < name.length; next += 1) {
    if (text[at + next] !== name[next]) return false;
  }
  return at + name.length <= length;
}

/** Skips white space. */
function startOf(at: number): number {
  let next = at;
  while (next < length && isSpace(text[next] ?? 0)) next += 1;
  return next;
}

/** The index behind a number, true, false or null. */
function scalarEnd(at: number): number {
  let next = at;
  while (next < length) {
    const code = text[next];
    if (code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET || isSpace(code ?? 0)) break;
    next += 1;
  }
  return next;
}

/** The index behind the string that begins at `at`; one with escapes that `canonicalText` spells in another way: none. */
function stringEnd(at: number): number {
  let next = at + 1;
  while (next < length) {
    const code = text[next];
    if (code === QUOTE) return next + 1;
    if (code === BACKSLASH) {
      const escaped = text[next + 1];
      if (escaped === LETTER_U || escaped === SLASH) return IMPOSSIBLE;
      next += 2;
    } else next += 1;
  }
  return length;
}
