import { Worker } from 'node:worker_threads';
import type { Found, Start } from '../../model/explore.ts';

export interface Task {
  readonly start: Start;
  /** Source operations in a schedule, at most. */
  readonly operations: number;
}

/** What the search of one variant came to. */
export interface Searched {
  readonly start: Start;
  readonly counts: Pick<Found, 'states' | 'ends' | 'deletions' | 'bounded' | 'slow'>;
  /** What must not be, each with the shortest schedule that leads there. */
  readonly violations: readonly string[];
  readonly seconds: number;
}

/**
 * Searches a variant in a thread of its own, which a signal ends at once.
 * @returns undefined: it was ended before
 */
export async function searchInThread(task: Task, signal: AbortSignal): Promise<Searched | undefined> {
  if (signal.aborted) return undefined;
  const worker = new Worker(new URL('search.ts', import.meta.url), { workerData: task });
  const end = (): void => void worker.terminate();
  signal.addEventListener('abort', end);
  try {
    return await new Promise<Searched | undefined>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', (code) => {
        if (signal.aborted) resolve(undefined);
        else reject(new Error(`the search ended with ${code} and without a result`));
      });
    });
  } finally {
    signal.removeEventListener('abort', end);
    await worker.terminate();
  }
}
