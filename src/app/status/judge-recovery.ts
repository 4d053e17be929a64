import type { RecoveryStatus } from '../../model/status-report.ts';
import type { HealthJudgement } from './judgement.ts';

/** A database that went back: a problem until full walks have read again what it may have lost. */
export function judgeRecovery(recovery: RecoveryStatus | null): HealthJudgement {
  if (recovery === null) return { problems: [], notes: [] };
  const { at, reason, open } = recovery;
  const told = `${at}: ${reason}`;
  if (open) {
    const problem = `${told}; what it may have lost is read again by full walks, which are due: "research-mirror sync --full" does it now`;
    return { problems: [problem], notes: [] };
  }
  const note = `${told}; it was read again since. Consumers of _change_id compare once (docs/recipes.md)`;
  return { problems: [], notes: [note] };
}
