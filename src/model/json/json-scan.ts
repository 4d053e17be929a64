/**
 * Where the parts of a JSON text begin and end. Every function expects text that JSON.parse has accepted. On other
 * text the result means nothing; nothing hangs or overflows the stack.
 */

export const QUOTE = 34;
export const COMMA = 44;
const COLON = 58;
export const OPEN_BRACKET = 91;
const BACKSLASH = 92;
export const CLOSE_BRACKET = 93;
export const OPEN_BRACE = 123;
export const CLOSE_BRACE = 125;

/** Skips white space. */
export function valueStart(text: string, at: number): number {
  let next = at;
  while (isSpace(text.charCodeAt(next))) next += 1;
  return next;
}

function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}

/** The index behind the value that begins at `at`. */
export function valueEnd(text: string, at: number): number {
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
      // Braces and brackets differ from each other in bit 5 alone.
      const shape = code & ~32;
      if (shape === OPEN_BRACKET) depth += 1;
      else if (shape === CLOSE_BRACKET && (depth -= 1) === 0) return next;
    }
  }
  return text.length;
}

/** The index behind a number, true, false or null. */
export function scalarEnd(text: string, at: number): number {
  let next = at;
  while (next < text.length) {
    const code = text.charCodeAt(next);
    if (code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET || isSpace(code)) break;
    next += 1;
  }
  return next;
}

/** The index behind the string literal whose opening quote is at `at`. */
export function stringEnd(text: string, at: number): number {
  let quote = text.indexOf('"', at + 1);
  while (quote !== -1) {
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
    quote = text.indexOf('"', quote + 1);
  }
  return text.length;
}

/** The index behind the colon that follows a name; the text's end where none does. */
export function afterColon(text: string, at: number): number {
  const colon = valueStart(text, at);
  return text.charCodeAt(colon) === COLON ? colon + 1 : text.length;
}
