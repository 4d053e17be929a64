import { Argument } from 'commander';
import { suggestion } from '../../config/suggestion.ts';
import { COLLECTION_NAMES, type CollectionName } from '../../model/collections.ts';
import { UsageError } from '../terminal/usage-error.ts';

/** An argument for names of collections, as many as are wanted. */
export function collectionsArgument(does: string): Argument {
  return new Argument('[collection...]', does);
}

/**
 * The collections that a command line names, in the catalogue's order; undefined where it names none.
 * @throws UsageError for names that there are not
 */
export function chooseCollections(names: readonly string[]): readonly CollectionName[] | undefined {
  if (names.length === 0) return undefined;
  const unknown = names.filter((name) => !COLLECTION_NAMES.some((known) => known === name));
  if (unknown.length > 0) {
    const told = unknown.map((name) => `${JSON.stringify(name)}${suggestion(name, COLLECTION_NAMES)}`);
    throw new UsageError(`no such collection: ${told.join(', ')}; there are ${COLLECTION_NAMES.join(', ')}`);
  }
  return COLLECTION_NAMES.filter((name) => names.includes(name));
}
