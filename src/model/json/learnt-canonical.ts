import {
  afterColon,
  CLOSE_BRACKET,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  scalarEnd,
  stringEnd,
  valueEnd,
  valueStart,
} from './json-scan.ts';

/** Objects nested deeper are left to `canonicalText`: each level may be read twice before it is learnt. */
const DEEPEST = 6;
/** With more fields an object is a dictionary: the next one has others. */
const MOST_FIELDS = 300;

/** The fields that the last object in one place of an item had. */
interface Shape {
  /** Names as spelled, quotes included, in the order of the text. */
  readonly names: readonly string[];
  /** Where each member, in canonical order, stands in the text. */
  readonly order: readonly number[];
  /** Shapes of the members that are objects, or arrays of objects. */
  readonly inner: (Shape | undefined)[];
  /** The shape before this one: finished and unfinished rows take turns. */
  readonly other: Shape | undefined;
}

/** Which shape an object is read by. */
type Which = 'known' | 'other' | 'learnt';

const UNKNOWN: Shape = { names: [], order: [], inner: [], other: undefined };

/**
 * Canonical texts of items that resemble each other, as those of one collection do: which fields an object has, and
 * their order, is learnt from the one before it. So names are compared in place, and neither cut out nor sorted.
 */
export class LearntCanonical {
  readonly #root: (Shape | undefined)[] = [undefined];
  #text = '';
  /** Where the next token begins. */
  #at = 0;

  /**
   * The same as `canonicalText`.
   * @param source text that JSON.parse has accepted
   * @returns undefined where only `canonicalText` can do it
   */
  of(source: string): string | undefined {
    // Escapes that `canonicalText` spells in another way.
    if (source.includes('\\u') || source.includes('\\/')) return undefined;
    this.#text = source;
    this.#at = valueStart(source, 0);
    const isObject = source.charCodeAt(this.#at) === OPEN_BRACE;
    return isObject ? this.#object(this.#root, 0, 0, 'known') : undefined;
  }

  /**
   * Reads the object at `#at`, which is behind it afterwards.
   * @param place of its shape in `shapes`
   * @param shape of the last object, the one before, or made of this very object
   */
  #object(shapes: (Shape | undefined)[], place: number, depth: number, shape: Which): string | undefined {
    const text = this.#text;
    const begin = this.#at;
    const { names, order, inner } = shapes[place] ?? UNKNOWN;
    const members: string[] = [];
    let at = valueStart(text, begin + 1);
    while (text.charCodeAt(at) === QUOTE) {
      const name = names[members.length];
      if (name === undefined || !text.startsWith(name, at)) break;
      const nameEnd = at + name.length;
      const start = valueStart(text, afterColon(text, nameEnd));
      const first = text.charCodeAt(start);
      if (first === OPEN_BRACE || first === OPEN_BRACKET) {
        this.#at = start;
        const value =
          first === OPEN_BRACE
            ? this.#inner(inner, members.length, depth)
            : this.#array(inner, members.length, depth);
        if (value === undefined) return undefined;
        members.push(`${name}:${value}`);
        at = this.#at;
      } else {
        const end = first === QUOTE ? stringEnd(text, start) : scalarEnd(text, start);
        members.push(start === nameEnd + 1 ? text.slice(at, end) : `${name}:${text.slice(start, end)}`);
        at = end;
      }
      at = valueStart(text, at);
      if (text.charCodeAt(at) === COMMA) at = valueStart(text, at + 1);
    }
    if (
      members.length === names.length &&
      text.charCodeAt(at) !== QUOTE &&
      (shape === 'learnt' || names.length > 0)
    ) {
      this.#at = at + 1;
      return inOrder(members, order);
    }
    const last = shapes[place];
    if (shape === 'learnt') return undefined;
    const next = shape === 'known' && last?.other !== undefined ? 'other' : 'learnt';
    const made = next === 'other' ? last?.other : shapeAt(text, begin);
    if (made === undefined) return undefined;
    shapes[place] = { ...made, other: last === undefined ? undefined : { ...last, other: undefined } };
    this.#at = begin;
    return this.#object(shapes, place, depth, next);
  }

  #inner(shapes: (Shape | undefined)[], place: number, depth: number): string | undefined {
    return depth === DEEPEST ? undefined : this.#object(shapes, place, depth + 1, 'known');
  }

  /** Reads the array at `#at`; its objects share a shape. */
  #array(shapes: (Shape | undefined)[], place: number, depth: number): string | undefined {
    const text = this.#text;
    let result = '[';
    let at = valueStart(text, this.#at + 1);
    while (at < text.length && text.charCodeAt(at) !== CLOSE_BRACKET) {
      if (result.length > 1) result += ',';
      const first = text.charCodeAt(at);
      if (first === OPEN_BRACKET) return undefined;
      if (first === OPEN_BRACE) {
        this.#at = at;
        const element = this.#inner(shapes, place, depth);
        if (element === undefined) return undefined;
        result += element;
        at = this.#at;
      } else {
        const end = first === QUOTE ? stringEnd(text, at) : scalarEnd(text, at);
        if (end === at) return undefined; // no JSON: it would stand here for ever
        result += text.slice(at, end);
        at = end;
      }
      at = valueStart(text, at);
      if (text.charCodeAt(at) === COMMA) at = valueStart(text, at + 1);
    }
    this.#at = at + 1;
    return `${result}]`;
  }
}

function inOrder(members: readonly string[], order: readonly number[]): string {
  let result = '{';
  for (let next = 0; next < order.length; next += 1) {
    result += next === 0 ? members[order[next] ?? 0] : `,${members[order[next] ?? 0]}`;
  }
  return `${result}}`;
}

/** Undefined: it has a name twice, or very many. */
function shapeAt(text: string, begin: number): Shape | undefined {
  const names: string[] = [];
  let at = valueStart(text, begin + 1);
  while (text.charCodeAt(at) === QUOTE) {
    const nameEnd = stringEnd(text, at);
    // Copied: a slice would keep the whole text in memory.
    names.push(Buffer.from(text.slice(at, nameEnd)).toString());
    if (names.length > MOST_FIELDS) return undefined;
    at = valueStart(text, valueEnd(text, valueStart(text, afterColon(text, nameEnd))));
    if (text.charCodeAt(at) === COMMA) at = valueStart(text, at + 1);
  }
  if (new Set(names).size < names.length) return undefined;
  const order = [...names.keys()].sort((a, b) => ((names[a] ?? '') < (names[b] ?? '') ? -1 : 1));
  return { names, order, inner: names.map(() => undefined), other: undefined };
}
