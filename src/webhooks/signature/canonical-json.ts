/**
 * JSON in the one spelling that two programs agree on without sending it: fields sorted by name (code points), no
 * white space, everything but printable ASCII escaped, of fields named twice the last one. It is what Python prints by
 * `json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)`, but that numbers keep the text they
 * have in the body: programs that print a body and its canonical form print its numbers alike, each in its own way.
 *
 * One pass over the text: parsing with a reviver, which knows the source of numbers, takes a second for a megabyte.
 */

/** Deeper nesting has no canonical form here (Python gives up at 1,000 levels). */
const MAX_DEPTH = 500;

const QUOTE = 34;
const COMMA = 44;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/** @returns undefined for a text that is no JSON or is nested too deeply */
export function canonicalJson(text: string): string | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  return new Printer(text).print();
}

/** Walks through text that is JSON; every method leaves `#at` behind what it has read. */
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
    // Too deep: nothing is read any more, and everything unwinds.
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
      // Behind the colon.
      this.#next();
      this.#at += 1;
      members.set(name, { literal, value: this.#value() });
      if (this.#next() === COMMA) this.#at += 1;
    }
    const sorted = [...members].sort(([a], [b]) => compareCodePoints(a, b));
    return `{${sorted.map(([, { literal, value }]) => `${literal}:${value}`).join(',')}}`;
  }

  #string(): string {
    const start = this.#at;
    let quote = this.#text.indexOf('"', start + 1);
    while (isEscaped(this.#text, quote)) quote = this.#text.indexOf('"', quote + 1);
    this.#at = quote + 1;
    return asciiLiteral(this.#text.slice(start, this.#at));
  }

  #scalar(): string {
    const start = this.#at;
    while (this.#at < this.#text.length && !endsScalar(this.#text.charCodeAt(this.#at))) this.#at += 1;
    return this.#text.slice(start, this.#at);
  }

  /** Skips white space. @returns the character that follows; NaN at the end */
  #next(): number {
    let code = this.#text.charCodeAt(this.#at);
    while (code === 32 || code === 10 || code === 13 || code === 9) {
      this.#at += 1;
      code = this.#text.charCodeAt(this.#at);
    }
    return code;
  }
}

function endsScalar(code: number): boolean {
  return code === COMMA || code === CLOSE_BRACKET || code === CLOSE_BRACE || code <= 32;
}

/** Whether the character at `index` stands behind an odd number of backslashes. */
function isEscaped(text: string, index: number): boolean {
  let backslashes = 0;
  while (text[index - 1 - backslashes] === '\\') backslashes += 1;
  return backslashes % 2 === 1;
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

/** JavaScript's own order is by UTF-16 units, which puts U+E000 to U+FFFF behind all pairs. */
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
