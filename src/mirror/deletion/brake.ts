/** Deletions that are never held back: small collections lose a good part of their rows every day. */
const FREE_ROWS = 10;
/** Share of a collection's rows that may go within a day. */
const FREE_SHARE = 0.2;

/** What the brake judges by: of one collection of an account, over all its scopes. */
export interface DeletionVolume {
  /** Rows in doubt, proven or not, and the items of lists in doubt. */
  readonly suspected: number;
  /** Rows deleted within the last day. */
  readonly deleted: number;
  readonly live: number;
}

/**
 * Whether deletions are held back for a person to look at: more than 20 % of what there was, and more than 10 rows, in
 * doubt or gone within a day (docs/design/deletions.md, "Brake"). A service that loses its data, answers for another account or changes its
 * lists' meaning looks like that, and so does a user who clears up: then `--accept-deletions` lets them go.
 */
export function brakeBlocks({ suspected, deleted, live }: DeletionVolume): boolean {
  const volume = suspected + deleted;
  return volume > FREE_ROWS && volume > FREE_SHARE * (live + deleted);
}
