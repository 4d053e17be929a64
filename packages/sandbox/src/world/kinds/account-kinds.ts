import { mix } from '../../hash.ts';
import { companyMembers } from '../company.ts';
import type { ItemKind, Subject } from './item-kind.ts';
import { timeText } from '../time-text.ts';

/** Points from 0 to 100, in hundredths; a new one with each version. */
function scoreOf(subject: Subject, version: number): number {
  return (mix(subject.hash, 1000 + version) % 10_000) / 100;
}

function updatedAt(subject: Subject): number {
  return Math.max(subject.createdAt, subject.scoredAt, subject.changedAt);
}

const scored: Pick<ItemKind, 'keyField' | 'updatedAt' | 'score' | 'nextChange'> = {
  keyField: 'id',
  updatedAt,
  score: (subject) => scoreOf(subject, subject.scoreVersion),
  nextChange: () => Infinity,
};

function scoreMembers(subject: Subject): string {
  const previous = subject.scoreVersion === 0 ? 'null' : scoreOf(subject, subject.scoreVersion - 1);
  return `"score":${scoreOf(subject, subject.scoreVersion)},"previous_score":${previous}`;
}

/** Points by which the score of a watched company must change for that to be significant. */
export function watchThreshold(hash: number): number {
  return 5 + (hash % 20);
}

/** An account on a list: `GET /v1/lists/{id}`. */
export const listItemKind: ItemKind = {
  ...scored,
  members: (subject, options) =>
    `"object":"account",${companyMembers(subject.hash)},${scoreMembers(subject)},` +
    `"tags":["tier-${1 + (subject.hash % 3)}"],"notes":${subject.hash % 5 === 0 ? '"Rückruf, später ✅"' : 'null'},` +
    `"added_at":${timeText(subject.shownCreatedAt, options.times)},` +
    `"updated_at":${timeText(updatedAt(subject), options.times)}`,
};

/** A watched company: `GET /v1/watchlist`. */
export const watchEntryKind: ItemKind = {
  ...scored,
  members: (subject, options) =>
    `"object":"watch_entry",${companyMembers(subject.hash)},${scoreMembers(subject)},` +
    `"threshold":${watchThreshold(subject.hash)},"signals":{"hiring":${subject.hash % 2 === 0},"funding":null},` +
    `"created_at":${timeText(subject.shownCreatedAt, options.times)},` +
    `"score_changed_at":${timeText(subject.scoreVersion === 0 ? undefined : Math.max(subject.createdAt, subject.scoredAt), options.times)},` +
    `"updated_at":${timeText(updatedAt(subject), options.times)}`,
};
