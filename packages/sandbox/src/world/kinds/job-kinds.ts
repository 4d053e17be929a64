import { mix } from '../../hash.ts';
import type { SandboxOptions } from '../../switches/sandbox-switches.ts';
import { companyMembers, researchMembers } from '../company.ts';
import type { ItemKind, Subject } from './item-kind.ts';
import { jobState, stateWord, type JobState } from './job-state.ts';
import { timeText } from '../time-text.ts';

function stateOf(subject: Subject, options: SandboxOptions): JobState {
  return jobState(subject.hash, subject.createdAt, subject.time, options);
}

function scoreOf(subject: Subject): number {
  return (mix(subject.hash, 31) % 10_000) / 100;
}

const timed: Pick<ItemKind, 'updatedAt' | 'score' | 'nextChange'> = {
  updatedAt: (subject, options) => Math.max(stateOf(subject, options).since, subject.changedAt),
  score: (subject, options) => (stateOf(subject, options).phase === 'completed' ? scoreOf(subject) : -1),
  nextChange: (subject, options) => stateOf(subject, options).until,
};

/** `status` and the times that go with it, the same for both kinds of jobs. */
function lifeMembers(subject: Subject, state: JobState, options: SandboxOptions): string {
  const ended = state.phase === 'completed' || state.phase === 'failed';
  return (
    `"created_at":${timeText(subject.shownCreatedAt, options.times)},` +
    `"started_at":${timeText(state.startedAt, options.times)},` +
    `"completed_at":${timeText(ended ? state.since : undefined, options.times)},` +
    `"updated_at":${timeText(Math.max(state.since, subject.changedAt), options.times)}`
  );
}

/** A research job of `GET /v1/research`: about 1 KB once completed. */
export const researchJobKind: ItemKind = {
  keyField: 'job_id',
  ...timed,
  members(subject, options) {
    const state = stateOf(subject, options);
    const done = state.phase === 'completed';
    const error =
      state.phase === 'failed'
        ? '{"code":"site_unreachable","message":"No page could be read","retryable":true}'
        : 'null';
    return (
      `"object":"research_job","status":${stateWord(state.phase, subject.hash, options.states)},` +
      `${companyMembers(subject.hash)},${lifeMembers(subject, state, options)},` +
      `"document_id":${done ? 500_000 + (subject.hash % 4_000_000_000) : 'null'},` +
      `"score":${done ? scoreOf(subject) : 'null'},"error":${error}` +
      (done ? `,${researchMembers(subject.hash)}` : '')
    );
  },
};

/** A bulk research job of `GET /v1/research/bulk`. */
export const bulkJobKind: ItemKind = {
  keyField: 'bulk_job_id',
  ...timed,
  members(subject, options) {
    const state = stateOf(subject, options);
    const total = 5 + (mix(subject.hash, 32) % 200);
    const failed = state.phase === 'failed' ? total : state.phase === 'completed' ? total % 4 : 0;
    const completed = state.phase === 'completed' ? total - failed : 0;
    return (
      `"object":"bulk_research_job","status":${stateWord(state.phase, subject.hash, options.states)},` +
      `"name":"Batch ${1 + subject.slot} – ${total} companies","total_count":${total},` +
      `"completed_count":${completed},"failed_count":${failed},` +
      `"score":${state.phase === 'completed' ? scoreOf(subject) : 'null'},` +
      `"options":{"depth":"${total % 2 === 0 ? 'deep' : 'quick'}","languages":["en","de"],"webhook":null},` +
      lifeMembers(subject, state, options)
    );
  },
};
