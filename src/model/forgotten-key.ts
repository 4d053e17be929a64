import { hash } from 'node:crypto';
import type { Scope } from './collections.ts';

/**
 * By what a row that was forgotten is known again: SHA-256 of the table's name, a colon, and the row's `_key`, as SQL
 * can compute it (docs/recipes.md); hexadecimal. Who does not know the key learns it from the hash only by trying
 * keys.
 * @param key '' for the list itself whose items the scope's are
 */
export function forgottenHash({ userId, collection, parent }: Scope, key: string): string {
  const row = [userId, parent, key].filter((part) => part !== '').join(':');
  return hash('sha256', `${collection}:${row}`, 'hex');
}
