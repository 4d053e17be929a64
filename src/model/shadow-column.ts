/**
 * A column that is about to take the place of another one: readers' views and copies leave it out. Its name has the
 * numbers of both columns (`pg_attribute.attnum`), and numbers never come again: `_retype_12_57`.
 */
const SHADOW = /^_retype_(\d+)_\d+$/;

/** The same for SQL. */
export const SHADOW_PATTERN = '^_retype_[0-9]+_[0-9]+$';

/** @param replaced number of the column that it replaces @param own its own number */
export function shadowName(replaced: number, own: number): string {
  return `_retype_${replaced}_${own}`;
}

export function isShadow(name: string): boolean {
  return SHADOW.test(name);
}

/** Number of the column whose place it takes; undefined for any other column. */
export function replacedBy(name: string): number | undefined {
  const number = SHADOW.exec(name)?.[1];
  return number === undefined ? undefined : Number(number);
}
