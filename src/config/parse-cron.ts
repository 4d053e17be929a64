import { countOf } from '@research-mirror/runtime/figures';
import { validateDetailed } from 'node-cron';
import { InvalidValue, refuse } from './parse-values.ts';

/** Cron line of walks that never start by themselves. */
export const CRON_NEVER = 'never';

const NAMES = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'];

/** The five fields in order: node-cron's name, ours, legal values and their number. */
const FIELDS = [
  { id: 'minute', name: 'minute', legal: '0-59', size: 60 },
  { id: 'hour', name: 'hour', legal: '0-23', size: 24 },
  { id: 'dayOfMonth', name: 'day of month', legal: '1-31', size: 31 },
  { id: 'month', name: 'month', legal: '1-12 or jan-dec', size: 12 },
  { id: 'dayOfWeek', name: 'day of week', legal: '0-7 or sun-sat', size: 8 },
] as const;

/**
 * Checks a cron line and returns it with single spaces: five fields in node-cron's dialect, a name such as `@daily`, or
 * `never`. Refuses node-cron's optional field for seconds.
 * @throws InvalidValue that names the field and its legal values
 */
export function parseCronLine(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, ' ');
  const lower = line.toLowerCase();
  if (lower === CRON_NEVER || NAMES.includes(lower)) return lower;
  if (line.startsWith('@')) refuse(line, `is not a known schedule. Use ${NAMES.join(', ')} or ${CRON_NEVER}.`);
  const parts = line.split(' ');
  if (parts.length !== FIELDS.length) {
    const named = FIELDS.map(({ name }) => name).join(', ');
    refuse(line, `has ${countOf(parts.length, 'field')} instead of 5: ${named}`);
  }
  const { errors } = validateDetailed(line);
  const faults = FIELDS.flatMap(({ id, name, legal, size }, index) => {
    const part = parts[index] ?? '';
    const error = errors.find(({ field }) => field === id);
    if (error?.message.includes('impossible') === true) return 'that day of month never occurs in that month';
    if (error !== undefined) {
      return `${name} ${JSON.stringify(part)} is not valid: use ${legal}, *, ranges, lists or steps`;
    }
    // Legal for node-cron, which would fire once an hour, say, while the operator meant many times.
    const step = [...part.matchAll(/\/(\d+)/g)].find(([, digits]) => Number(digits) >= size)?.[1];
    return step === undefined ? [] : `${name} has a step of ${step}: the maximum is ${size - 1}`;
  });
  if (errors.length + faults.length > 0) {
    throw new InvalidValue(`in ${JSON.stringify(line)} ${faults.join('; ')}`);
  }
  return line;
}
