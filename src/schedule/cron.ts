import { createTask } from 'node-cron';
import { type Service, service } from '../runtime/service.ts';

/** A cron line and what it does. Lines are UTC: local time would skip the hour that daylight saving repeats. */
export interface CronLine {
  /** Five fields, or a name such as `@daily`. Validated by config. */
  readonly expression: string;
  /** Called at each firing; must return at once and not throw. Firings missed while asleep are not made up. */
  fire(): void;
}

/** Fires the lines until it is stopped. */
export function cronService(lines: readonly CronLine[]): Service {
  return service('cron', async ({ signal, ready }) => {
    const tasks = lines.map((line) =>
      createTask(line.expression, () => line.fire(), { timezone: 'UTC', suppressMissedWarning: true }),
    );
    try {
      for (const task of tasks) await task.start();
      ready();
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
        if (signal.aborted) reject(signal.reason as Error);
      });
    } finally {
      for (const task of tasks) await task.destroy();
    }
  });
}

/** The next two firings of `expression` after now. A line that never fires again has none. */
export function nextFirings(expression: string): readonly Date[] {
  const task = createTask(expression, () => {}, { timezone: 'UTC' });
  try {
    return task.getNextRuns(2);
  } finally {
    void task.destroy();
  }
}
