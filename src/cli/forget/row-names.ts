import type { RowName } from '../../app/forget/forget-rows.ts';
import { suggestion } from '../../config/suggestion.ts';
import { COLLECTIONS, type ListCollection } from '../../model/collections.ts';
import { type KeyReading, readKey } from '../../model/key.ts';
import { UsageError } from '../terminal/usage-error.ts';

/** @throws UsageError, with what may be meant */
export function chooseTable(given: string): ListCollection {
  const lists = COLLECTIONS.filter((each) => each.kind === 'list');
  const found = lists.find(({ name }) => name === given);
  if (found !== undefined) return found;
  if (given === 'account') {
    throw new UsageError('an account is not forgotten by a key: "accounts retire USER_ID --remove-data"');
  }
  const names = lists.map(({ name }) => name);
  throw new UsageError(
    `forget has no table ${JSON.stringify(given)}${suggestion(given, names)}: there are ${names.join(', ')}`,
  );
}

/** A key as `changes` and the views write it: of an item of a list `LIST:ID`. @throws UsageError */
export function readRowName({ name, keyType, parent }: ListCollection, given: string): RowName {
  if (parent === undefined) return { parent: '', key: keyOf(readKey(keyType, JSON.stringify(given)), given) };
  const colon = given.indexOf(':');
  if (colon < 0) {
    throw new UsageError(`${JSON.stringify(given)} is no key of ${name}: the list and the item, as in 7:abc`);
  }
  const [list, item] = [given.slice(0, colon), given.slice(colon + 1)];
  return {
    parent: keyOf(readKey(parent.keyType, JSON.stringify(list)), given),
    key: keyOf(readKey(keyType, JSON.stringify(item)), given),
  };
}

function keyOf(reading: KeyReading, given: string): string {
  if ('key' in reading) return reading.key;
  throw new UsageError(
    `${JSON.stringify(given)} is no key: it ${reading.problem.replace('cursor ID', 'key')}`,
  );
}
