import { domainOf } from '../domain.ts';
import { MAX_TEXT_KEY_BYTES } from '../key.ts';
import { keyOf } from './row-address.ts';

/** Characters of what may be searched for: no ID is longer. */
export const LONGEST_QUERY = MAX_TEXT_KEY_BYTES;

/** What the text of a search may be. */
export interface SearchTerms {
  /** As an ID: as it was typed, and without white space around it. None where no ID can be so. */
  readonly texts: readonly string[];
  readonly integer: string | undefined;
  /** As the mirror writes domains of companies. */
  readonly domain: string | undefined;
  readonly email: string | undefined;
}

export function searchTerms(query: string): SearchTerms {
  const text = query.trim();
  const email = /^[^\s@/\0]+@[^\s@/\0]+$/.test(text) ? text : undefined;
  return {
    texts: [...new Set([text, query])].filter((each) => keyOf('text', each) !== undefined),
    integer: keyOf('bigint', text),
    domain: email === undefined ? domainOf(text) : undefined,
    email,
  };
}
