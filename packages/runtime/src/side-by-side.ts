/** Does `task` for each item, `workers` at a time at most. The first error ends it, once all tasks under way have ended. */
export async function sideBySide<T>(
  items: readonly T[],
  workers: number,
  task: (item: T) => Promise<void>,
): Promise<void> {
  const left = items.values();
  let failure: { readonly error: unknown } | undefined;
  const work = async (): Promise<void> => {
    // All workers take from the one iterator: what one has taken, no other gets.
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
