import { parseArgs } from 'node:util';

type Flag<T> = T extends number ? number : T extends string ? string : boolean;

/**
 * Reads `--name value` flags. Each default fixes the flag's type, false that of a flag without a value; an unknown flag
 * or a value that is no number ends the bench with 2 and the list of flags.
 */
export function readFlags<const T extends Record<string, number | string | false>>(
  defaults: T,
): { [Name in keyof T]: Flag<T[Name]> } {
  const names = Object.keys(defaults);
  try {
    const options = Object.fromEntries(
      names.map((name) => [name, { type: defaults[name] === false ? ('boolean' as const) : ('string' as const) }]),
    );
    const { values } = parseArgs({ options });
    const read = names.map((name) => {
      const usual = defaults[name];
      const given = values[name];
      if (given === true) return [name, true];
      if (typeof given !== 'string') return [name, usual];
      if (typeof usual === 'string') return [name, given];
      const number = Number(given);
      if (given.trim() === '' || !Number.isFinite(number) || number < 0) {
        throw new RangeError(`--${name} must be a number from 0 up, not ${JSON.stringify(given)}`);
      }
      return [name, number];
    });
    return Object.fromEntries(read) as { [Name in keyof T]: Flag<T[Name]> };
  } catch (error) {
    const list = names.map((name) => `  --${name} (${String(defaults[name])})`).join('\n');
    process.stderr.write(`${(error as Error).message}\nFlags and their defaults:\n${list}\n`);
    process.exit(2);
  }
}
