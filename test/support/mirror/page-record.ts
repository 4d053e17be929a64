import type { PageRecord } from '../../../src/mirror/page-record.ts';
import type { AbsenceProof } from '../../../src/model/absence.ts';
import type { Item, Page, PagePlace } from '../../../src/model/page.ts';
import { NO_TOTALS } from '../../../src/model/sync-events.ts';
import { NO_PAGE } from '../../../src/walk/take-page.ts';

/** A page of a record: its items, and what its walk says of it. */
export interface GivenPage extends Partial<Omit<PageRecord, 'page' | 'taken'>>, Pick<Page, 'served'> {
  readonly hashes?: Page['hashes'] | undefined;
  readonly items?: readonly Item[];
  readonly proof?: AbsenceProof | undefined;
  readonly contradiction?: boolean;
  readonly where?: PagePlace;
}

/**
 * The record of a page that is no end of its walk. By default it judges nothing, as an answer that is one object:
 * its rows alone are written.
 */
export function pageRecord(
  place: Pick<PageRecord, 'scope' | 'obs' | 'after'>,
  { items = [], hashes, served, proof, contradiction = false, where = NO_PAGE.place, ...given }: GivenPage,
): PageRecord {
  return {
    page: {
      items,
      hasMore: undefined,
      nextCursor: undefined,
      ...(hashes && { hashes }),
      ...(served && { served }),
    },
    sentAfter: 0,
    taken: { proof: proof ?? null, contradiction, place: where },
    walk: { kind: 'single', began: 0, agedMs: 0 },
    memory: undefined,
    end: undefined,
    startedAt: new Date(0),
    firstSentAt: undefined,
    totals: NO_TOTALS,
    polledAt: undefined,
    lastReadAt: undefined,
    early: false,
    whole: undefined,
    badItems: undefined,
    alsoInTransaction: async () => {},
    ...given,
    ...place,
  };
}
