import { countOf, lastChange, nextChange } from '../census.ts';
import { mix } from '../../hash.ts';
import type { ItemKind, Subject } from './item-kind.ts';
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
export function listKind(itemsOf: (subject: Subject) => Population): ItemKind {
  const ownChange = (subject: Subject): number => {
    const analyzedAt = subject.createdAt + LIST_ANALYSIS_MS;
    return Math.max(subject.changedAt, analyzedAt <= subject.time ? analyzedAt : subject.createdAt);
  };
  const kind: ItemKind = {
    keyField: 'list_id',
    updatedAt: (subject, options) =>
      options.listRowsFollow === 'on'
        ? Math.max(ownChange(subject), lastChange(itemsOf(subject), subject.time))
        : ownChange(subject),
    score: (subject) => (mix(subject.hash, 41) % 1000) / 10,
    nextChange(subject, options) {
      const analyzedAt = subject.createdAt + LIST_ANALYSIS_MS;
      return Math.min(
        analyzedAt > subject.time ? analyzedAt : Infinity,
        options.listRowsFollow === 'on' ? nextChange(itemsOf(subject), subject.time) : Infinity,
      );
    },
    members(subject, options) {
      const analyzed = subject.createdAt + LIST_ANALYSIS_MS <= subject.time;
      const items = itemsOf(subject);
      const count = options.listRowsFollow === 'on' ? countOf(items, subject.time) : items.sequence.initial;
      return (
        `"object":"company_list","name":"${NAMES[subject.hash % NAMES.length] ?? 'List'} ${1 + subject.slot}",` +
        `"description":${subject.hash % 4 === 0 ? 'null' : '"Imported from the CRM, checked quarterly"'},` +
        `"status":${stateWord(analyzed ? 'completed' : 'processing', subject.hash, options.states)},` +
        `"item_count":${count},"score":${kind.score(subject, options)},` +
        `"filters":{"countries":["DE","FR"],"min_employees":${subject.hash % 500},"tags":[]},` +
        `"created_at":${timeText(subject.shownCreatedAt, options.times)},` +
        `"updated_at":${timeText(kind.updatedAt(subject, options), options.times)}`
      );
    },
  };
  return kind;
}
