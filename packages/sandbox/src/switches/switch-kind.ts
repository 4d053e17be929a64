/**
 * A switch of the sandbox: one row of the table from which the command line, the validation and the docs come.
 * Values are numbers and strings only, so that a switch reads the same on the command line and in JSON.
 */
export interface Switch<T extends number | string = number | string> {
  readonly kind: 'integer' | 'number' | 'share' | 'limit' | 'choice' | 'text';
  readonly default: T;
  /** One line for `--help`. */
  readonly help: string;
  /** Legal values of a `choice`. */
  readonly choices?: readonly string[];
  /** Reads a command line's text or a JSON value; a problem says which values are legal. */
  read(value: unknown): { readonly value: T } | { readonly problem: string };
}

/** A whole number within [min, max]. */
export function integer(usual: number, help: string, { min = 0, max = 1_000_000_000 } = {}): Switch<number> {
  const read = numeric(min, max, 'a whole number');
  return { kind: 'integer', default: usual, help, read };
}

/** A number of at least 0, fractions allowed: rates a minute. */
export function rate(usual: number, help: string): Switch<number> {
  return { kind: 'number', default: usual, help, read: numeric(0, 1_000_000, 'a number') };
}

/** A probability or a part of the whole: 0 to 1. */
export function share(usual: number, help: string): Switch<number> {
  return { kind: 'share', default: usual, help, read: numeric(0, 1, 'a number') };
}

/** Requests per 60 s, or `off`. */
export function limit(usual: number | 'off', help: string): Switch<number | 'off'> {
  const read = numeric(1, 1_000_000, 'a whole number', ', or off');
  return {
    kind: 'limit',
    default: usual,
    help,
    read: (value) => (value === 'off' ? { value } : read(value)),
  };
}

/** One of several words. */
export function choice<const T extends string>(choices: readonly T[], usual: NoInfer<T>, help: string): Switch<T> {
  return {
    kind: 'choice',
    default: usual,
    help,
    choices,
    read(value) {
      const found = choices.find((match) => match === String(value));
      return found === undefined ? { problem: `must be one of ${choices.join(', ')}` } : { value: found };
    },
  };
}

/** A text in which `check` finds no problem. */
export function text(usual: string, help: string, check: (value: string) => string | undefined): Switch<string> {
  return {
    kind: 'text',
    default: usual,
    help,
    read(value) {
      const problem = typeof value === 'string' ? check(value) : 'must be a string';
      return problem === undefined ? { value: String(value) } : { problem };
    },
  };
}

function numeric(min: number, max: number, what: 'a number' | 'a whole number', more = '') {
  return (value: unknown): { readonly value: number } | { readonly problem: string } => {
    const n =
      typeof value === 'string' && /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(value.trim()) ? Number(value) : value;
    const legal = typeof n === 'number' && n >= min && n <= max && (what === 'a number' || Number.isInteger(n));
    return legal ? { value: n } : { problem: `must be ${what} from ${min} to ${max}${more}` };
  };
}
