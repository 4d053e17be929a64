import {
  afterColon,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  scalarEnd,
  stringEnd,
  valueStart,
} from '../../model/json/json-scan.ts';

/**
 * JSON in one spelling: fields sorted by name (code points), no white space, everything but printable ASCII escaped,
 * the last one of duplicate fields. Python prints it by
 * `json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)`, except that numbers keep their text:
 * a program prints the numbers of a body and of its canonical form alike.
 *
 * One pass over the text: parsing with a reviver, which knows the source of numbers, takes a second for a megabyte.
 */

/** Deeper nesting has no canonical form here (Python gives up at 1,000 levels). */
const MAX_DEPTH = 500;

/** @returns undefined for text that is not JSON or is nested too deeply */
export function canonicalJson(text: string): string | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  return new Printer(text).print();
}

/** Walks through JSON text; each method leaves `#at` behind what it has read. */
class Printer {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  print(): string | undefined {
    const result = this.#value();
    return this.#depth > MAX_DEPTH ? undefined : result;
  }

  #value(): string {
    const first = this.#next();
    if (first === QUOTE) return this.#string();
    if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return this.#scalar();
    this.#depth += 1;
    // Too deep: stops reading, and unwinds.
    if (this.#depth > MAX_DEPTH) return '';
    this.#at += 1;
    const result = first === OPEN_BRACE ? this.#object() : this.#array();
    if (this.#depth > MAX_DEPTH) return '';
    this.#depth -= 1;
    this.#at += 1;
    return result;
  }

  #array(): string {
    const elements: string[] = [];
    while (this.#next() !== CLOSE_BRACKET && this.#depth <= MAX_DEPTH) {
      elements.push(this.#value());
      if (this.#next() === COMMA) this.#at += 1;
    }
    return `[${elements.join(',')}]`;
  }

  #object(): string {
    const members = new Map<string, { readonly literal: string; readonly value: string }>();
    while (this.#next() !== CLOSE_BRACE && this.#depth <= MAX_DEPTH) {
      const literal = this.#string();
      const name = JSON.parse(literal) as string;
      this.#at = afterColon(this.#text, this.#at);
      members.set(name, { literal, value: this.#value() });
      if (this.#next() === COMMA) this.#at += 1;
    }
    const sorted = [...members].sort(([a], [b]) => compareCodePoints(a, b));
    return `{${sorted.map(([, { literal, value }]) => `${literal}:${value}`).join(',')}}`;
  }

  #string(): string {
    const start = this.#at;
    this.#at = stringEnd(this.#text, start);
    return asciiLiteral(this.#text.slice(start, this.#at));
  }

  #scalar(): string {
    const start = this.#at;
    this.#at = scalarEnd(this.#text, start);
    return this.#text.slice(start, this.#at);
  }

  /** Skips white space. @returns the character that follows; NaN at the end */
  #next(): number {
    this.#at = valueStart(this.#text, this.#at);
    return this.#text.charCodeAt(this.#at);
  }
}

/** A string literal in the spelling of Python's `ensure_ascii`. */
function asciiLiteral(literal: string): string {
  if (/^[ -[\]-~]*$/.test(literal)) return literal;
  const spelled = JSON.stringify(JSON.parse(literal));
  return spelled.replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** JavaScript's own order is by UTF-16 units: it puts U+E000 to U+FFFF behind all pairs. */
function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const [x, y] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (x !== y) return isSurrogate(x) === isSurrogate(y) ? x - y : isSurrogate(x) ? 1 : -1;
  }
  return a.length - b.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}
