/** Runs `task` for each item, at most `workers` at a time. @throws the first error, when running tasks have ended */
export async function forEachConcurrently<T>(
  items: readonly T[],
  workers: number,
  task: (item: T) => Promise<void>,
): Promise<void> {
  const left = items.values();
  let failure: { readonly error: unknown } | undefined;
  const work = async (): Promise<void> => {
    // All workers share one iterator: each item goes to one of them.
    for (const item of left) {
      if (failure !== undefined) return;
      try {
        await task(item);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  if (failure !== undefined) throw failure.error;
}
