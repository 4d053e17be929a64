import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { exploreAll } from '../../model/all-variants.ts';
import type { Found, Start } from '../../model/explore.ts';

/** A search of one variant, with this many source operations in a schedule at most. */
interface Task {
  readonly start: Start;
  readonly operations: number;
}

export interface Searched extends Task {
  readonly counts: Pick<Found, 'states' | 'ends' | 'deletions' | 'bounded' | 'slow'>;
  /** What must not be, each with the shortest schedule that leads there. */
  readonly violations: readonly string[];
  readonly seconds: number;
}

/** Searches a variant in a thread of its own, which a signal ends at once. @returns undefined: it was ended before */
export async function searchInThread(task: Task, signal: AbortSignal): Promise<Searched | undefined> {
  if (signal.aborted) return undefined;
  const worker = new Worker(new URL(import.meta.url), { workerData: { search: task } });
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

// In that thread.
const given = isMainThread ? undefined : (workerData as { search?: Task } | undefined)?.search;
if (given !== undefined) {
  const begun = performance.now();
  for (const { found, violations } of exploreAll(given.operations, [given.start])) {
    const { states, ends, deletions, bounded, slow } = found;
    const counts = { states, ends, deletions, bounded, slow };
    const seconds = (performance.now() - begun) / 1000;
    parentPort?.postMessage({ ...given, counts, violations, seconds } satisfies Searched, []);
  }
}
