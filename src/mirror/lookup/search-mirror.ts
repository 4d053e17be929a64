import type { Db } from '../../db/connection/db.ts';
import { databaseTime } from '../../db/connection/database-time.ts';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { COLLECTIONS } from '../../model/collections.ts';
import type { Found, SearchAnswer } from '../../model/lookup/search-answer.ts';
import { searchTerms } from '../../model/lookup/search-terms.ts';
import { accountsBy, companiesOf, eventsById, submissionsBy } from './find-others.ts';
import { rowsByDomain, rowsById } from './find-rows.ts';
import { lookupSnapshot, STATEMENT_MS } from './lookup-snapshot.ts';

/** Results of one search, at most. */
export const MOST_RESULTS = 50;

/**
 * Searches all accounts for what has the query as ID, domain, e-mail address or idempotency key, on one snapshot. What
 * is meant most likely comes first: IDs before domains, live rows before deleted ones.
 * @throws DatabaseUnavailable, also where it takes too long
 */
export async function searchMirror(
  db: Db,
  query: string,
  clock: { readonly monotonic: () => number },
): Promise<SearchAnswer> {
  const began = clock.monotonic();
  const terms = searchTerms(query);
  const most = MOST_RESULTS + 1;
  const lists = COLLECTIONS.filter((each) => each.kind === 'list');
  const ids = [
    (trx: Db) => accountsBy(trx, terms, most),
    ...lists.map((list) => (trx: Db) => {
      const integer = terms.integer === undefined ? [] : [terms.integer];
      return rowsById(trx, list.name, list.keyType === 'bigint' ? integer : terms.texts, most);
    }),
    (trx: Db) => submissionsBy(trx, terms, most),
    (trx: Db) => eventsById(trx, terms.texts, most),
  ];
  const { domain } = terms;
  const domains =
    domain === undefined
      ? []
      : (['live', 'deleted'] as const).flatMap((which) =>
          lists.map((list) => (trx: Db) => rowsByDomain(trx, list.name, domain, which, most)),
        );
  return lookupSnapshot(db, async (trx) => {
    const at = (await databaseTime(trx)).toISOString();
    const gather = async (finders: readonly ((trx: Db) => Promise<readonly Found[]>)[]): Promise<Found[]> => {
      const found: Found[] = [];
      for (const find of finders) {
        // All but the last statement take no longer than one may.
        if (clock.monotonic() - began > STATEMENT_MS)
          throw new DatabaseUnavailable('the search takes too long');
        if (found.length < most) found.push(...(await find(trx)));
      }
      return found;
    };
    const byId = (await gather(ids)).toSorted((a, b) => Number(isDeleted(a)) - Number(isDeleted(b)));
    // A row whose ID is a domain is found by both.
    const known = new Set(byId.map(nameOf));
    const byDomain = (await gather(domains)).filter((each) => !known.has(nameOf(each)));
    const users = new Set(
      [...byId.filter((each) => each.kind === 'row'), ...byDomain].map(({ userId }) => userId),
    );
    const companies =
      domain === undefined ? [] : await companiesOf(trx, domain, [...users].slice(0, MOST_RESULTS));
    const all = [...byId, ...companies, ...byDomain];
    return { query, at, results: all.slice(0, MOST_RESULTS), more: all.length > MOST_RESULTS };
  });
}

function isDeleted(found: Found): boolean {
  return found.kind === 'row' && found.deletedAt !== null;
}

function nameOf(found: Found): string {
  return found.kind === 'row' ? JSON.stringify([found.userId, found.collection, found.key]) : '';
}
