import { countVisible, lastChange, nextChange } from '../population-summary.ts';
import { mix } from '../../hash.ts';
import type { ItemKind, ItemSnapshot } from './item-kind.ts';
import type { Population } from '../population.ts';
import { stateWord } from './job-state.ts';
import { timeText } from '../time-text.ts';

const NAMES = [
  'Key accounts',
  'Neukunden',
  'Expansion',
  'Trade fair – été',
  'Renewals',
  'Prospects',
  'Ex-customers',
];

/** Milliseconds from the creation of a list until its first analysis is finished. */
export const LIST_ANALYSIS_MS = 30_000;

/**
 * A list of `GET /v1/lists`.
 * @param itemsOf the items of a list: `updated_at` and `item_count` follow them, unless a switch says otherwise
 */
export function listKind(itemsOf: (snapshot: ItemSnapshot) => Population): ItemKind {
  const ownChange = (snapshot: ItemSnapshot): number => {
    const analyzedAt = snapshot.createdAt + LIST_ANALYSIS_MS;
    return Math.max(snapshot.changedAt, analyzedAt <= snapshot.time ? analyzedAt : snapshot.createdAt);
  };
  const kind: ItemKind = {
    keyField: 'list_id',
    updatedAt: (snapshot, options) =>
      options.listRowsFollow === 'on'
        ? Math.max(ownChange(snapshot), lastChange(itemsOf(snapshot), snapshot.time))
        : ownChange(snapshot),
    score: (snapshot) => (mix(snapshot.hash, 41) % 1000) / 10,
    nextChange(snapshot, options) {
      const analyzedAt = snapshot.createdAt + LIST_ANALYSIS_MS;
      return Math.min(
        analyzedAt > snapshot.time ? analyzedAt : Infinity,
        options.listRowsFollow === 'on' ? nextChange(itemsOf(snapshot), snapshot.time) : Infinity,
      );
    },
    members(snapshot, options) {
      const analyzed = snapshot.createdAt + LIST_ANALYSIS_MS <= snapshot.time;
      const items = itemsOf(snapshot);
      const count =
        options.listRowsFollow === 'on' ? countVisible(items, snapshot.time) : items.sequence.initial;
      return (
        `"object":"company_list","name":"${NAMES[snapshot.hash % NAMES.length] ?? 'List'} ${1 + snapshot.slot}",` +
        `"description":${snapshot.hash % 4 === 0 ? 'null' : '"Imported from the CRM, checked quarterly"'},` +
        `"status":${stateWord(analyzed ? 'completed' : 'processing', snapshot.hash, options.states)},` +
        `"item_count":${count},"score":${kind.score(snapshot, options)},` +
        `"filters":{"countries":["DE","FR"],"min_employees":${snapshot.hash % 500},"tags":[]},` +
        `"created_at":${timeText(snapshot.shownCreatedAt, options.times)},` +
        `"updated_at":${timeText(kind.updatedAt(snapshot, options), options.times)}`
      );
    },
  };
  return kind;
}
