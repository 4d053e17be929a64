import { validateDetailed } from 'node-cron';
import { NEVER } from '../config.ts';
import { InvalidValue } from '../invalid.ts';

const NAMES = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'];

/** The five fields in order: node-cron's name, ours, legal values, how many there are. */
const FIELDS = [
  { id: 'minute', name: 'minute', legal: '0-59', size: 60 },
  { id: 'hour', name: 'hour', legal: '0-23', size: 24 },
  { id: 'dayOfMonth', name: 'day of month', legal: '1-31', size: 31 },
  { id: 'month', name: 'month', legal: '1-12 or jan-dec', size: 12 },
  { id: 'dayOfWeek', name: 'day of week', legal: '0-7 or sun-sat', size: 8 },
] as const;

/**
 * Checks a cron line and gives it back with single spaces: five fields in node-cron's dialect, a name such as
 * `@daily`, or `never`. Refuses node-cron's optional field for seconds: the service is not polled so often.
 * @throws InvalidValue naming the field and what is legal in it
 */
export function parseCronLine(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, ' ');
  const lower = line.toLowerCase();
  if (lower === NEVER || NAMES.includes(lower)) return lower;
  if (line.startsWith('@')) {
    throw new InvalidValue(
      `${JSON.stringify(line)} is no name for a schedule: ${NAMES.join(', ')} or ${NEVER}`,
    );
  }
  const parts = line.split(' ');
  if (parts.length !== FIELDS.length) {
    throw new InvalidValue(
      `${JSON.stringify(line)} has ${parts.length} of the 5 fields: minute, hour, day of month, month, day of week`,
    );
  }
  const faults = [...faultsOfDialect(line), ...faultsOfSteps(parts)];
  if (faults.length > 0) throw new InvalidValue(`in ${JSON.stringify(line)} ${faults.join('; ')}`);
  return line;
}

function faultsOfDialect(line: string): string[] {
  return validateDetailed(line).errors.map((error) => {
    const field = FIELDS.find(({ id }) => id === error.field);
    if (field === undefined) return error.message;
    if (error.message.includes('impossible')) return 'the day of month never comes in that month';
    return `${field.name} ${JSON.stringify(error.value ?? '')} is not legal: ${field.legal}, *, ranges, lists, steps`;
  });
}

/** node-cron accepts a step as large as the field. It would fire once where the operator meant many times. */
function faultsOfSteps(parts: readonly string[]): string[] {
  return FIELDS.flatMap(({ name, size }, index) =>
    [...(parts[index] ?? '').matchAll(/\/(\d+)/g)]
      .filter((match) => Number(match[1]) >= size)
      .map((match) => `${name} has a step of ${match[1]}: at most ${size - 1}`),
  );
}
