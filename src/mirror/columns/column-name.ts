import { hash } from 'node:crypto';

/** PostgreSQL silently cuts longer names. */
const MAX_NAME_BYTES = 63;
const SUFFIX_DIGITS = 6;

/**
 * PostgreSQL's reserved words of both kinds, and its system columns. They can't be column names without quotes, or
 * mean something else then (`user` is the session's user).
 */
const RESERVED = new Set(
  (
    'all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate ' +
    'collation column concurrently constraint create cross current_catalog current_date current_role ' +
    'current_schema current_time current_timestamp current_user default deferrable desc distinct do else end ' +
    'except false fetch for foreign freeze from full grant group having ilike in initially inner intersect into ' +
    'is isnull join lateral leading left like limit localtime localtimestamp natural not notnull null offset on ' +
    'only or order outer overlaps placing primary references returning right select session_user similar some ' +
    'symmetric system_user table tablesample then to trailing true union unique user using variadic verbose ' +
    'when where window with ' +
    'tableoid cmax xmax cmin xmin ctid'
  ).split(' '),
);

/**
 * The column for a field: its name in snake_case. A name that is taken, begins with an underscore as the mirror's own
 * do, is reserved, empty, too long or not a plain identifier gets a suffix that depends on the field alone.
 * @param taken names of the present columns
 */
export function columnName(field: string, taken: ReadonlySet<string>): string {
  const snake = snakeCase(field);
  const plain = snake.replace(/^_+/, '');
  const bare =
    plain === snake &&
    /^\p{L}/u.test(plain) &&
    !RESERVED.has(plain) &&
    Buffer.byteLength(plain) <= MAX_NAME_BYTES &&
    !taken.has(plain);
  if (bare) return plain;
  const digits = hash('sha256', field, 'hex');
  const stem = /^\p{L}/u.test(plain) ? plain : plain === '' ? 'field' : `field_${plain}`;
  for (let length = SUFFIX_DIGITS; length < digits.length; length += 1) {
    const suffix = `_${digits.slice(0, length)}`;
    const name = cut(stem, MAX_NAME_BYTES - suffix.length) + suffix;
    if (!taken.has(name)) return name;
  }
  throw new RangeError(`no free column name for the field ${JSON.stringify(field)}`);
}

/** `companyURL` → `company_url`, `HTMLBody 2` → `html_body_2`, `größe` stays; a leading underscore stays. */
function snakeCase(field: string): string {
  return field
    .normalize('NFC')
    .replaceAll(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1_$2')
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1_$2')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '_')
    .replace(/_$/, '');
}

/** The longest beginning of whole characters within `bytes`. */
function cut(text: string, bytes: number): string {
  let result = '';
  for (const character of text) {
    if (Buffer.byteLength(result) + Buffer.byteLength(character) > bytes) break;
    result += character;
  }
  return result;
}
