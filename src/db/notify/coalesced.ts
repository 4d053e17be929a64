/**
 * Makes a function that runs `task`, one run at a time: calls during a run share the next one. It resolves when a run
 * has ended that began after the call.
 */
export function coalesced(task: () => Promise<void>): () => Promise<void> {
  let underWay: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  return () => {
    next ??= underWay
      .catch(() => {})
      .then(() => {
        next = undefined;
        underWay = task();
        return underWay;
      });
    return next;
  };
}
