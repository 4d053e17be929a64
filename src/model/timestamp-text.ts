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
const PLAIN = /^"(?!0000)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ"$/;

/** True only for a JSON string that `timestampText` would leave as it is; other strings may be times, too. */
export function isPlainMoment(source: string): boolean {
  return PLAIN.test(source);
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
