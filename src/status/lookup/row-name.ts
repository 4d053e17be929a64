import type { RowAddress } from '../../model/lookup/row-address.ts';

/** `research_jobs 17`, `list_items a:b of list 7`, `account 42`. */
export function rowName({ userId, collection, key }: RowAddress): string {
  const [own = userId, list] = key.toReversed();
  return list === undefined ? `${collection} ${own}` : `${collection} ${own} of list ${list}`;
}
