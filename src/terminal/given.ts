import { formatCount } from '@research-mirror/runtime/figures';
import { suggestion } from '../config/parse-values.ts';
import { COLLECTION_NAMES, type CollectionName } from '../model/collections.ts';
import { UsageError } from './shell.ts';

/** Entries of a list without --limit. */
export const USUAL_LIMITS = { events: 50, quarantine: 100, submissions: 50 } as const;

/** @param begin of the error's sentence @throws UsageError with suggestions */
export function chooseFrom<Name extends string>(names: readonly Name[], given: string, begin: string): Name {
  const found = names.find((name) => name === given);
  if (found === undefined) throw noneOf(names, given, begin);
  return found;
}

export function noneOf(names: readonly string[], given: string, begin: string): UsageError {
  const one = names.length === 1 ? '' : 'one of ';
  return new UsageError(`${begin} ${JSON.stringify(given)}${suggestion(given, names)}. Use ${one}${names.join(', ')}.`);
}

/** The named collections in the catalogue's order; undefined if none is named. @throws UsageError */
export function chooseCollections(names: readonly string[]): readonly CollectionName[] | undefined {
  const chosen = names.map((name) => chooseFrom(COLLECTION_NAMES, name, 'no such collection:'));
  return chosen.length === 0 ? undefined : COLLECTION_NAMES.filter((name) => chosen.includes(name));
}

/** @throws UsageError for options that do not apply to the action */
export function refuseOptions<Options extends object>(
  action: string,
  options: Options,
  foreign: readonly (keyof Options & string)[],
): void {
  const set = foreign
    .filter((name) => options[name] !== undefined)
    .map((name) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`));
  if (set.length > 0) throw new UsageError(`${action} has no option --${set.join(', --')}`);
}

/** @throws UsageError for filters together with `--show`, which ignores them */
export function refuseFilters<Options extends { readonly show?: string }>(
  options: Options,
  filters: readonly (keyof Options & string)[],
): void {
  const set = options.show === undefined ? [] : filters.filter((name) => options[name] !== undefined);
  if (set.length > 0) throw new UsageError(`--show can't be combined with --${set.join(', --')}`);
}

/** @param option `--limit` @returns a whole number from 1 to `most` @throws UsageError */
export function readCount(option: string, text: string, most: number): number {
  const count = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : Number.NaN;
  if (count <= most) return count;
  const range = `from 1 to ${formatCount(most)}`;
  throw new UsageError(`${option}: ${JSON.stringify(text)} must be a whole number ${range}`);
}

/** `--limit`. @throws UsageError */
export function readLimit(text: string | undefined, usual: number): number {
  return text === undefined ? usual : readCount('--limit', text, 999_999_999);
}

/** @param begin of the error's sentence @returns decimal digits of a bigint @throws UsageError */
export function readUserId(text: string, begin = ''): string {
  if (/^-?\d{1,19}$/.test(text) && BigInt(text) === BigInt.asIntN(64, BigInt(text))) return text;
  throw new UsageError(`${begin}${JSON.stringify(text)} is not a user_id, which is a number`);
}
