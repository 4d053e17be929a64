/** Longest text that is read as an address, in characters. */
const MAX_LENGTH = 2083;
/** Longest domain, in characters (RFC 1035, 2.3.4). */
const MAX_DOMAIN = 253;

/** A domain that the URL parser would give back unchanged, as most items have it. */
const PLAIN_DOMAIN = /^(?!www\.)(?!.*xn--)(?:[a-z0-9-]{1,63}\.)+[a-z]{2,63}$/;

/**
 * Domain of an address as people write it: `https://www.Acme.example/about` and `ACME.example` give `acme.example`.
 * Host names outside ASCII come as `xn--…`.
 * @returns undefined for an IP address, a single label, or no address at all
 */
export function domainOf(text: string): string | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const address = text.trim();
  if (address.length <= MAX_DOMAIN && PLAIN_DOMAIN.test(address)) return address;
  const hasScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(address);
  const url = URL.parse(hasScheme ? address : `https://${address.replace(/^\/\//, '')}`);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  const host = url.hostname.replace(/\.$/, '');
  const domain = host.replace(/^www\.(?=.*\.)/, '');
  return isDomain(domain) ? domain : undefined;
}

/** The last label of an IPv4 address is a number, and an IPv6 address stands in brackets. */
function isDomain(host: string): boolean {
  const labels = host.split('.');
  return (
    host.length <= MAX_DOMAIN &&
    labels.length > 1 &&
    labels.every((label) => /^[a-z0-9_-]{1,63}$/.test(label)) &&
    !/^\d+$/.test(labels.at(-1) ?? '')
  );
}

const ISO_8601 =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,18}))?)?(?:Z|z|([+-])(\d{2})(?::?(\d{2}))?)?)?$/;

/** PostgreSQL takes offsets up to 15:59. */
const MAX_OFFSET_HOURS = 15;

/**
 * A time in ISO 8601, respelled so that PostgreSQL reads it the same under any setting, with all digits and its offset.
 * Without a zone it is UTC, without a time of day midnight.
 * @returns undefined for any other text, and for a time that PostgreSQL can't hold
 */
export function timestampText(text: string): string | undefined {
  const match = ISO_8601.exec(text);
  if (match === null) return undefined;
  const [, year = '', month = '', day = '', hour = '00', minute = '00', second = '00', fraction] = match;
  const [, , , , , , , , sign = '+', offsetHour = '00', offsetMinute = '00'] = match;
  const valid =
    Number(year) >= 1 &&
    Number(month) >= 1 &&
    Number(month) <= 12 &&
    Number(day) >= 1 &&
    Number(day) <= daysOf(Number(year), Number(month)) &&
    Number(hour) <= 23 &&
    Number(minute) <= 59 &&
    Number(second) <= 59 &&
    Number(offsetHour) <= MAX_OFFSET_HOURS &&
    Number(offsetMinute) <= 59;
  if (!valid) return undefined;
  const point = fraction === undefined ? '' : `.${fraction}`;
  const offset = offsetHour === '00' && offsetMinute === '00' ? 'Z' : `${sign}${offsetHour}:${offsetMinute}`;
  return `${year}-${month}-${day}T${hour}:${minute}:${second}${point}${offset}`;
}

/** The usual spelling, on a day that all months have. */
const PLAIN_MOMENT = /^"(?!0000)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ"$/;

/** True only for a JSON string that `timestampText` would leave as it is; other strings may be times, too. */
export function isPlainMoment(source: string): boolean {
  return PLAIN_MOMENT.test(source);
}

/**
 * The latest time in any top-level field of an item, ms since the epoch: the specification (2.5) names no field.
 * @returns undefined if no field holds an ISO 8601 time
 */
export function latestMoment(source: string): number | undefined {
  const moments = Object.values(JSON.parse(source) as object).flatMap((value) => {
    const text = typeof value === 'string' ? timestampText(value) : undefined;
    return text === undefined ? [] : [Date.parse(text)];
  });
  return moments.length === 0 ? undefined : Math.max(...moments);
}

function daysOf(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

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
export type StoredBody = Readonly<{ raw: string; verbatim: string | null }>;

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
