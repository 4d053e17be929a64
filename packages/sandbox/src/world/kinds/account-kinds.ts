import { mix } from '../../hash.ts';
import { companyMembers } from '../company.ts';
import type { ItemKind, ItemSnapshot } from './item-kind.ts';
import { timeText } from '../time-text.ts';

/** Points from 0 to 100, in hundredths; another score for each version. */
function scoreOf(snapshot: ItemSnapshot, version: number): number {
  return (mix(snapshot.hash, 1000 + version) % 10_000) / 100;
}

function updatedAt(snapshot: ItemSnapshot): number {
  return Math.max(snapshot.createdAt, snapshot.scoredAt, snapshot.changedAt);
}

const scored: Pick<ItemKind, 'keyField' | 'updatedAt' | 'score' | 'nextChange'> = {
  keyField: 'id',
  updatedAt,
  score: (snapshot) => scoreOf(snapshot, snapshot.scoreVersion),
  nextChange: () => Infinity,
};

function scoreMembers(snapshot: ItemSnapshot): string {
  const previous = snapshot.scoreVersion === 0 ? 'null' : scoreOf(snapshot, snapshot.scoreVersion - 1);
  return `"score":${scoreOf(snapshot, snapshot.scoreVersion)},"previous_score":${previous}`;
}

/** A change of a watched company's score by this many points is significant. */
export function watchThreshold(hash: number): number {
  return 5 + (hash % 20);
}

/** An account on a list: `GET /v1/lists/{id}`. */
export const listItemKind: ItemKind = {
  ...scored,
  members: (snapshot, options) =>
    `"object":"account",${companyMembers(snapshot.company)},${scoreMembers(snapshot)},` +
    `"tags":["tier-${1 + (snapshot.hash % 3)}"],"notes":${snapshot.hash % 5 === 0 ? '"Rückruf, später ✅"' : 'null'},` +
    `"added_at":${timeText(snapshot.shownCreatedAt, options.times)},` +
    `"updated_at":${timeText(updatedAt(snapshot), options.times)}`,
};

/** A watched company: `GET /v1/watchlist`. */
export const watchEntryKind: ItemKind = {
  ...scored,
  members: (snapshot, options) =>
    `"object":"watch_entry",${companyMembers(snapshot.company)},${scoreMembers(snapshot)},` +
    `"threshold":${watchThreshold(snapshot.hash)},"signals":{"hiring":${snapshot.hash % 2 === 0},"funding":null},` +
    `"created_at":${timeText(snapshot.shownCreatedAt, options.times)},` +
    `"score_changed_at":${timeText(snapshot.scoreVersion === 0 ? undefined : Math.max(snapshot.createdAt, snapshot.scoredAt), options.times)},` +
    `"updated_at":${timeText(updatedAt(snapshot), options.times)}`,
};
