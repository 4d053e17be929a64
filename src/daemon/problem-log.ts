import type { Clock } from '@research-mirror/runtime/clock';
import type { Logger } from '@research-mirror/runtime/logger';
import { messageOf } from '@research-mirror/runtime/message';
import { type Service, service } from '@research-mirror/runtime/service';
import { type Problem, type ProblemCause, problemLine, withoutPlace } from '../status/problem.ts';
import type { StatusReport } from '../status/status-report.ts';

/** How often (ms) it looks. */
const LOOK_MS = 30_000;

/** What noticed them has logged them at once, and logs when they are over: the gate, the account, the heartbeat. */
const LOGGED_AT_ONCE: ReadonlySet<ProblemCause> = new Set([
  'database_unready',
  'service_down',
  'key_refused',
  'account_moved',
  'account_stopped',
]);

/** Logs each problem of the status report once when it begins, and once when it is over. */
export function problemLog(
  report: () => Promise<Pick<StatusReport, 'problems' | 'at'>>,
  clock: Clock,
  log: Pick<Logger, 'warn' | 'info' | 'debug'>,
): Service {
  return service('problems', async ({ signal, ready }) => {
    ready();
    let known: ReadonlyMap<string, Problem> = new Map();
    for (;;) {
      await clock.sleep(LOOK_MS, signal);
      try {
        const { problems, at } = await report();
        const found = new Map(
          problems
            .filter(({ cause }) => !LOGGED_AT_ONCE.has(cause))
            .map((problem) => [`${problem.cause} ${withoutPlace(problem.what)}`, problem]),
        );
        for (const [name, problem] of found) {
          if (!known.has(name)) log.warn(`problem: ${problemLine(problem, Date.parse(at))}`);
        }
        for (const [name, { what }] of known) if (!found.has(name)) log.info(`over: ${what}`);
        known = found;
      } catch (error) {
        if (signal.aborted) throw error;
        log.debug(`problems are not known now: ${messageOf(error)}`);
      }
    }
  });
}
