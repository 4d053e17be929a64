import { fraction, mix } from '../hash.ts';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';

/** The state of a job at one time. */
export interface JobState {
  readonly phase: 'queued' | 'processing' | 'completed' | 'failed';
  /** When the phase began, and when the next one will; Infinity for the last. Epoch milliseconds. */
  readonly since: number;
  readonly until: number;
  readonly startedAt: number | undefined;
}

/** After a failure the service waits this long, then works this long again, if it retries the job. */
const RETRY_WAIT_MS = 120_000;

/**
 * The state of a job as a pure function of its hash, its creation and the time: queued → processing → completed or
 * failed; some are stuck in processing, some of the failed are retried and complete.
 */
export function jobState(hash: number, createdAt: number, time: number, options: SandboxOptions): JobState {
  const workMs = options.jobSeconds * 1000;
  const startedAt = createdAt + 1000 + Math.floor(fraction(mix(hash, 11)) * workMs * 0.2);
  if (time < startedAt) return { phase: 'queued', since: createdAt, until: startedAt, startedAt: undefined };
  const stuck = fraction(mix(hash, 12)) < options.stuckShare;
  const doneAt = stuck ? Infinity : startedAt + Math.ceil((0.3 + fraction(mix(hash, 13)) * 1.2) * workMs);
  if (time < doneAt) return { phase: 'processing', since: startedAt, until: doneAt, startedAt };
  if (fraction(mix(hash, 14)) >= options.failedShare) {
    return { phase: 'completed', since: doneAt, until: Infinity, startedAt };
  }
  if (fraction(mix(hash, 15)) >= options.retriedShare) {
    return { phase: 'failed', since: doneAt, until: Infinity, startedAt };
  }
  const retryAt = doneAt + RETRY_WAIT_MS;
  if (time < retryAt) return { phase: 'failed', since: doneAt, until: retryAt, startedAt };
  const retryDoneAt = retryAt + workMs;
  if (time < retryDoneAt) return { phase: 'processing', since: retryAt, until: retryDoneAt, startedAt: retryAt };
  return { phase: 'completed', since: retryDoneAt, until: Infinity, startedAt: retryAt };
}

/** Longest time, in milliseconds, from a job's creation until its final state; stuck jobs have none. */
export function longestJobMs(options: SandboxOptions): number {
  return 2000 + Math.ceil(options.jobSeconds * 1000 * (0.2 + 1.5 + 1)) + RETRY_WAIT_MS;
}

const MANY: Readonly<Record<JobState['phase'], readonly string[]>> = {
  queued: ['queued', 'pending', 'created', 'scheduled'],
  processing: ['processing', 'running', 'analyzing', 'in_progress'],
  completed: ['completed', 'completed', 'partial_failure', 'skipped'],
  failed: ['failed', 'error', 'cancelled', 'failed'],
};

/** The word for a phase, as JSON text, in the spelling of the switch `states`. */
export function stateWord(phase: JobState['phase'], hash: number, spelling: SandboxOptions['states']): string {
  const words: Readonly<Record<SandboxOptions['states'], string | null>> = {
    plain: phase,
    many: MANY[phase][mix(hash, 16) % 4] ?? phase,
    upper: phase.toUpperCase(),
    mixed: mix(hash, 17) % 2 === 0 ? phase : `${phase.charAt(0).toUpperCase()}${phase.slice(1)}`,
    null: phase === 'queued' || phase === 'processing' ? null : phase,
  };
  return JSON.stringify(words[spelling]);
}
