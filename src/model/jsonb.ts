/** The escapes that jsonb refuses: U+0000, and lone halves of surrogate pairs. */
const SUSPECT = /\\u(?:0000|[dD][89a-fA-F])/;
/** Every escape of a JSON text: whole pairs, then those to be replaced, then any other. */
const ESCAPES =
  /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u(?:0000|[dD][89a-fA-F][0-9a-fA-F]{2})|\\./g;
const REPLACED = /^\\u(?:0000|[dD][89a-fA-F][0-9a-fA-F]{2})$/;

/**
 * JSON text that PostgreSQL's `jsonb` can hold: U+0000 and lone surrogates become U+FFFD (invariant 10).
 * `verbatim` is the exact text; undefined if nothing was replaced.
 */
export function jsonbText(source: string): { readonly raw: string; readonly verbatim: string | undefined } {
  if (!SUSPECT.test(source)) return { raw: source, verbatim: undefined };
  const raw = source.replaceAll(ESCAPES, (escape) => (REPLACED.test(escape) ? '\\ufffd' : escape));
  return { raw, verbatim: raw === source ? undefined : source };
}

/** A body as columns store it: text that jsonb takes, and the exact text if characters were replaced. */
export interface StoredBody {
  readonly raw: string;
  readonly verbatim: string | null;
}

/** @param asJson false stores one JSON string: jsonb refuses some JSON (numbers beyond `numeric`, deep nesting) */
export function storedBody(body: string, asJson = isJson(body)): StoredBody {
  const { raw, verbatim = null } = jsonbText(asJson ? body : JSON.stringify(body));
  return { raw, verbatim };
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
/** Greatest exponent that is written out: `numeric` keeps no more digits behind its point. */
const MOST_DIGITS = 16_383;

/**
 * A JSON number as PostgreSQL's `jsonb` prints it: every digit, no exponent, no negative zero. A number that is far too
 * large or small for that stays as it is.
 */
export function jsonbNumber(source: string): string {
  const [, sign = '', whole = '', fraction = '', power = '0'] = NUMBER.exec(source) ?? [];
  const exponent = Number(power);
  if (whole === '' || Math.abs(exponent) + fraction.length > MOST_DIGITS) return source;
  const digits = whole + fraction;
  // Digits before the decimal point, which may be negative.
  const point = whole.length + exponent;
  const before = digits
    .slice(0, Math.max(0, point))
    .padEnd(point, '0')
    .replace(/^0+(?=\d)/, '');
  const scale = Math.max(0, fraction.length - exponent);
  const behind = scale === 0 ? '' : `.${digits.slice(Math.max(0, point)).padStart(scale, '0')}`;
  const negative = sign === '-' && /[1-9]/.test(digits);
  return `${negative ? '-' : ''}${before === '' ? '0' : before}${behind}`;
}
