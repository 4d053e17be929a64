import type { Check } from '../../app/doctor/check.ts';
import { countOf } from '@research-mirror/runtime/figures';
import { printable } from '../terminal/text-table.ts';

/** A line for each check, and one that counts. */
export function describeChecks(checks: readonly Check[]): string {
  const widest = Math.max(...checks.map(({ check }) => check.length));
  const lines = checks.map(
    (each) => `${each.state.padEnd('warning'.length)}  ${each.check.padEnd(widest)}  ${describe(each)}\n`,
  );
  const count = (state: Check['state']): number => checks.filter((each) => each.state === state).length;
  const [broken, warnings, unknown] = [count('broken'), count('warning'), count('unknown')];
  const sum = [
    ...(broken > 0 ? [`${broken} broken`] : []),
    ...(warnings > 0 ? [countOf(warnings, 'warning')] : []),
    ...(unknown > 0 ? [`${unknown} not found out`] : []),
  ];
  return `${lines.join('')}${sum.length === 0 ? 'all fine' : sum.join(', ')}\n`;
}

/** What was found; behind the arrow what to do, and what to type there. */
function describe({ found, remedy, command, sql }: Check): string {
  const run = command === null ? (sql === null ? null : `psql> ${sql}`) : `$ ${command}`;
  const todo = [remedy, run].filter((part) => part !== null).join(': ');
  return `${printable(found)}${todo === '' ? '' : ` → ${printable(todo)}`}`;
}
