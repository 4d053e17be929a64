import type { Scheme, SchemeChoice } from '../../model/webhook/signature-scheme.ts';

/**
 * How much a right signature proves:
 * - 3: these bytes, and when they were signed; an overheard delivery can't be replayed for ever
 * - 2: these bytes
 * - 1: a value that these bytes spell. Many texts have one canonical form; an overheard signature fits each of them
 * Schemes of one rank prove the same in different spellings: a pin of one permits the others.
 */
const RANK: Readonly<Record<Scheme, 1 | 2 | 3>> = {
  timestamped: 3,
  'standard-webhooks': 3,
  hex: 2,
  'sha256-hex': 2,
  base64: 2,
  'canonical-json': 1,
};

/** Whether a delivery may be signed so: as configured or, with `auto`, not weaker than the secret's pin. */
export function isPermitted(scheme: Scheme, choice: SchemeChoice, pinned: Scheme | undefined): boolean {
  return choice === 'auto' ? pinned === undefined || RANK[scheme] >= RANK[pinned] : scheme === choice;
}

/**
 * A secret's pin after a delivery. One signature may fit several schemes: a body that is its own canonical form looks
 * signed either way. Such a delivery proves the weakest of them; with the strongest pinned, the next body that is not
 * its own canonical form would be refused.
 * @param proven schemes that the delivery's signature fits, at least one
 */
export function nextPin(
  pinned: Scheme | undefined,
  proven: readonly [Scheme, ...(readonly Scheme[])],
): Scheme {
  const weakest = proven.reduce((a, b) => (RANK[b] < RANK[a] ? b : a));
  return pinned !== undefined && RANK[pinned] >= RANK[weakest] ? pinned : weakest;
}
