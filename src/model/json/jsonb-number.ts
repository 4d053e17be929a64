const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
/** Greatest exponent that is written out: `numeric` keeps no more digits than this behind its point. */
const MOST_DIGITS = 16_383;

/**
 * A JSON number as PostgreSQL's `jsonb` prints it: every digit, no exponent, no negative zero. One that is far too
 * large or too small for that stays as it is.
 */
export function jsonbNumber(source: string): string {
  const [, sign = '', whole = '', fraction = '', power = '0'] = NUMBER.exec(source) ?? [];
  const exponent = Number(power);
  if (whole === '' || Math.abs(exponent) + fraction.length > MOST_DIGITS) return source;
  const digits = whole + fraction;
  // Digits before the decimal point: 0 or less puts it in front of all of them.
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
