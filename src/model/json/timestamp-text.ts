const ISO_8601 =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,18}))?)?(?:Z|z|([+-])(\d{2})(?::?(\d{2}))?)?)?$/;

/** PostgreSQL takes offsets up to 15:59. */
const MAX_OFFSET_HOURS = 15;

/**
 * A moment in ISO 8601 in the one spelling that PostgreSQL reads the same under any setting, with all its digits
 * and its offset; no zone is UTC, no time of day is midnight.
 * @returns undefined for any other text, and for a moment that PostgreSQL can't hold
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

const ZERO = 48;
const NINE = 57;
/** `0` stands for any digit. */
const PLAIN = '"0000-00-00T00:00:00Z"';
/** Days that every month has. */
const LEAST_DAYS = 28;

/**
 * Whether a JSON string is a moment as most are spelled, and as `timestampText` spells it, too. Others may be moments
 * nevertheless.
 */
export function isPlainMoment(source: string): boolean {
  if (source.length !== PLAIN.length) return false;
  for (let at = 0; at < PLAIN.length; at += 1) {
    const code = source.charCodeAt(at);
    const wanted = PLAIN.charCodeAt(at);
    if (wanted === ZERO ? code < ZERO || code > NINE : code !== wanted) return false;
  }
  const month = twoDigits(source, 6);
  const day = twoDigits(source, 9);
  return (
    (source.charCodeAt(1) !== ZERO || twoDigits(source, 2) > 0) &&
    month >= 1 &&
    month <= 12 &&
    day >= 1 &&
    day <= LEAST_DAYS &&
    twoDigits(source, 12) <= 23 &&
    twoDigits(source, 15) <= 59 &&
    twoDigits(source, 18) <= 59
  );
}

function twoDigits(text: string, at: number): number {
  return (text.charCodeAt(at) - ZERO) * 10 + text.charCodeAt(at + 1) - ZERO;
}

/**
 * The latest moment in any of an item's own fields, whatever their names: the specification (section 2.5) names none.
 * @param source its text
 * @returns milliseconds since the epoch; undefined where no field holds an ISO 8601 moment
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
