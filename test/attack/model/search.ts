/** A thread of its own: searches one variant of the model and posts what it found. */
import { parentPort, workerData } from 'node:worker_threads';
import { exploreAll } from '../../model/all-variants.ts';
import type { Searched, Task } from './searched.ts';

const { start, operations } = workerData as Task;
const begun = performance.now();
for (const { found, violations } of exploreAll(operations, [start])) {
  const { states, ends, deletions, bounded, slow } = found;
  const searched: Searched = {
    start,
    counts: { states, ends, deletions, bounded, slow },
    violations,
    seconds: (performance.now() - begun) / 1000,
  };
  parentPort?.postMessage(searched, []);
}
