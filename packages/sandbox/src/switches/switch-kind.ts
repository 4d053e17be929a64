/**
 * A switch of the sandbox: one row of the table from which the command line, the validation and the docs come.
 * Values are numbers and strings only, so that a switch reads the same on the command line and in JSON.
 */
export interface Switch<T extends SwitchValue = SwitchValue> {
  readonly kind: 'integer' | 'number' | 'share' | 'limit' | 'choice' | 'text';
  readonly default: T;
  /** One line for `--help`. */
  readonly help: string;
  /** Legal values of a `choice`. */
  readonly choices?: readonly string[];
  /** True where the control API may change it while the sandbox runs. */
  readonly live: boolean;
  /** Reads a command line's text or a JSON value; a problem says which values are legal. */
  read(value: unknown): Reading<T>;
}

export type SwitchValue = number | string;
export type Reading<T> = { readonly value: T } | { readonly problem: string };

interface Traits {
  readonly live?: boolean;
}

/** A whole number within [min, max]. */
export function integer(
  fallback: number,
  help: string,
  range: Traits & { readonly min?: number; readonly max?: number } = {},
): Switch<number> {
  const { min = 0, max = 1_000_000_000, live = false } = range;
  return {
    kind: 'integer',
    default: fallback,
    help,
    live,
    read: (value) =>
      numeric(
        value,
        (n) => Number.isInteger(n) && n >= min && n <= max,
        `a whole number from ${min} to ${max}`,
      ),
  };
}

/** A number of at least 0, fractions allowed: rates a minute. */
export function rate(fallback: number, help: string): Switch<number> {
  return {
    kind: 'number',
    default: fallback,
    help,
    live: false,
    read: (value) => numeric(value, (n) => n >= 0 && n <= 1_000_000, 'a number from 0 to 1000000'),
  };
}

/** A probability or a part of the whole: 0 to 1. */
export function share(fallback: number, help: string, traits: Traits = {}): Switch<number> {
  return {
    kind: 'share',
    default: fallback,
    help,
    live: traits.live ?? false,
    read: (value) => numeric(value, (n) => n >= 0 && n <= 1, 'a number from 0 to 1'),
  };
}

/** Requests per 60 s, or `off`. */
export function limit(fallback: number | 'off', help: string): Switch<number | 'off'> {
  return {
    kind: 'limit',
    default: fallback,
    help,
    live: true,
    read: (value) =>
      value === 'off'
        ? { value }
        : numeric(
            value,
            (n) => Number.isInteger(n) && n >= 1 && n <= 1_000_000,
            'a whole number from 1 to 1000000, or off',
          ),
  };
}

/** One of several words. */
export function choice<const T extends string>(
  choices: readonly T[],
  fallback: NoInfer<T>,
  help: string,
  traits: Traits = { live: true },
): Switch<T> {
  return {
    kind: 'choice',
    default: fallback,
    help,
    choices,
    live: traits.live ?? false,
    read(value) {
      const found = choices.find((match) => match === String(value));
      return found === undefined ? { problem: `must be one of ${choices.join(', ')}` } : { value: found };
    },
  };
}

/** A text that `check` accepts. */
export function text(
  fallback: string,
  help: string,
  check: (value: string) => string | undefined,
  traits: Traits = {},
): Switch<string> {
  return {
    kind: 'text',
    default: fallback,
    help,
    live: traits.live ?? false,
    read(value) {
      if (typeof value !== 'string') return { problem: 'must be a text' };
      const problem = check(value);
      return problem === undefined ? { value } : { problem };
    },
  };
}

function numeric(value: unknown, legal: (n: number) => boolean, what: string): Reading<number> {
  const n =
    typeof value === 'string' && /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(value.trim())
      ? Number(value)
      : value;
  return typeof n === 'number' && legal(n) ? { value: n } : { problem: `must be ${what}` };
}
