import { mix } from '../../hash.ts';
import type { SandboxOptions } from '../../switches/sandbox-switches.ts';
import { companyMembers, researchMembers } from '../company.ts';
import type { ItemKind, ItemSnapshot } from './item-kind.ts';
import { jobState, stateWord, type JobState } from './job-state.ts';
import { timeText } from '../time-text.ts';

function stateOf(snapshot: ItemSnapshot, options: SandboxOptions): JobState {
  return jobState(snapshot.hash, snapshot.createdAt, snapshot.time, options);
}

function scoreOf(snapshot: ItemSnapshot): number {
  return (mix(snapshot.hash, 31) % 10_000) / 100;
}

const timed: Pick<ItemKind, 'updatedAt' | 'score' | 'nextChange'> = {
  updatedAt: (snapshot, options) => Math.max(stateOf(snapshot, options).since, snapshot.changedAt),
  score: (snapshot, options) => (stateOf(snapshot, options).phase === 'completed' ? scoreOf(snapshot) : -1),
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
      `"score":${done ? scoreOf(snapshot) : 'null'},"error":${error}` +
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
      `"score":${state.phase === 'completed' ? scoreOf(snapshot) : 'null'},` +
      `"options":{"depth":"${total % 2 === 0 ? 'deep' : 'quick'}","languages":["en","de"],"webhook":null},` +
      lifeMembers(snapshot, state, options)
    );
  },
};
