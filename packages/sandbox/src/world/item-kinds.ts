import { mix } from '../hash.ts';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { companyMembers, researchMembers } from './company.ts';
import { jobState, stateWord, type JobState } from './job-state.ts';
import {
  countVisible,
  lastChange,
  nextChange,
  type ItemKind,
  type ItemSnapshot,
  type Population,
} from './population.ts';
import { timeText } from './time-text.ts';

/** Points from 0 to 100, in hundredths; another score for each version. */
function scoreOf(snapshot: ItemSnapshot, version: number): number {
  return (mix(snapshot.hash, 1000 + version) % 10_000) / 100;
}

const scored: Pick<ItemKind, 'keyField' | 'updatedAt' | 'score' | 'nextChange'> = {
  keyField: 'id',
  updatedAt: (snapshot) => Math.max(snapshot.createdAt, snapshot.scoredAt, snapshot.changedAt),
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
    `"updated_at":${timeText(scored.updatedAt(snapshot, options), options.times)}`,
};

/** A watched company: `GET /v1/watchlist`. */
export const watchEntryKind: ItemKind = {
  ...scored,
  members: (snapshot, options) =>
    `"object":"watch_entry",${companyMembers(snapshot.company)},${scoreMembers(snapshot)},` +
    `"threshold":${watchThreshold(snapshot.hash)},"signals":{"hiring":${snapshot.hash % 2 === 0},"funding":null},` +
    `"created_at":${timeText(snapshot.shownCreatedAt, options.times)},` +
    `"score_changed_at":${timeText(snapshot.scoreVersion === 0 ? undefined : Math.max(snapshot.createdAt, snapshot.scoredAt), options.times)},` +
    `"updated_at":${timeText(scored.updatedAt(snapshot, options), options.times)}`,
};

function stateOf(snapshot: ItemSnapshot, options: SandboxOptions): JobState {
  return jobState(snapshot.hash, snapshot.createdAt, snapshot.time, options);
}

function jobScore(snapshot: ItemSnapshot): number {
  return (mix(snapshot.hash, 31) % 10_000) / 100;
}

const timed: Pick<ItemKind, 'updatedAt' | 'score' | 'nextChange'> = {
  updatedAt: (snapshot, options) => Math.max(stateOf(snapshot, options).since, snapshot.changedAt),
  score: (snapshot, options) => (stateOf(snapshot, options).phase === 'completed' ? jobScore(snapshot) : -1),
  nextChange: (snapshot, options) => stateOf(snapshot, options).until,
};

/** The times that go with `status`, the same for both kinds of jobs. */
function lifeMembers(snapshot: ItemSnapshot, state: JobState, options: SandboxOptions): string {
  const ended = state.phase === 'completed' || state.phase === 'failed';
  return (
    `"created_at":${timeText(snapshot.shownCreatedAt, options.times)},` +
    `"started_at":${timeText(state.startedAt, options.times)},` +
    `"completed_at":${timeText(ended ? state.since : undefined, options.times)},` +
    `"updated_at":${timeText(Math.max(state.since, snapshot.changedAt), options.times)}`
  );
}

/** A research job of `GET /v1/research`: about 1 KB once completed. */
export const researchJobKind: ItemKind = {
  keyField: 'job_id',
  ...timed,
  members(snapshot, options) {
    const state = stateOf(snapshot, options);
    const done = state.phase === 'completed';
    const error =
      state.phase === 'failed'
        ? '{"code":"site_unreachable","message":"No page could be read","retryable":true}'
        : 'null';
    return (
      `"object":"research_job","status":${stateWord(state.phase, snapshot.hash, options.states)},` +
      `${companyMembers(snapshot.company)},${lifeMembers(snapshot, state, options)},` +
      `"document_id":${done ? 500_000 + (snapshot.hash % 4_000_000_000) : 'null'},` +
      `"score":${done ? jobScore(snapshot) : 'null'},"error":${error}` +
      (done ? `,${researchMembers(snapshot.company)}` : '')
    );
  },
};

/** A bulk research job of `GET /v1/research/bulk`. */
export const bulkJobKind: ItemKind = {
  keyField: 'bulk_job_id',
  ...timed,
  members(snapshot, options) {
    const state = stateOf(snapshot, options);
    const total = 5 + (mix(snapshot.hash, 32) % 200);
    const failed = state.phase === 'failed' ? total : state.phase === 'completed' ? total % 4 : 0;
    const completed = state.phase === 'completed' ? total - failed : 0;
    return (
      `"object":"bulk_research_job","status":${stateWord(state.phase, snapshot.hash, options.states)},` +
      `"name":"Batch ${1 + snapshot.slot} – ${total} companies","total_count":${total},` +
      `"completed_count":${completed},"failed_count":${failed},` +
      `"score":${state.phase === 'completed' ? jobScore(snapshot) : 'null'},` +
      `"options":{"depth":"${total % 2 === 0 ? 'deep' : 'quick'}","languages":["en","de"],"webhook":null},` +
      lifeMembers(snapshot, state, options)
    );
  },
};

const LIST_NAMES = [
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
      const count = options.listRowsFollow === 'on' ? countVisible(items, snapshot.time) : items.sequence.initial;
      return (
        `"object":"company_list","name":"${LIST_NAMES[snapshot.hash % LIST_NAMES.length] ?? 'List'} ${1 + snapshot.slot}",` +
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
