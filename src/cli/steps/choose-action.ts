import { Argument } from 'commander';
import { suggestion } from '../../config/suggestion.ts';
import { UsageError } from '../terminal/usage-error.ts';

/** An argument for what a command is to do; without it, the first one. */
export function actionArgument(actions: readonly string[]): Argument {
  const does = `${actions.slice(0, -1).join(', ')} or ${actions.at(-1) ?? ''}`;
  return new Argument('[action]', does).default(actions[0]);
}

/** What a command is to do. @throws UsageError, with what may be meant */
export function chooseAction<Action extends string>(
  command: string,
  given: string,
  actions: readonly Action[],
): Action {
  const action = actions.find((name) => name === given);
  if (action !== undefined) return action;
  const near = suggestion(given, actions);
  throw new UsageError(
    `${command} can't ${JSON.stringify(given)}${near}: there ${actions.length === 1 ? 'is' : 'are'} ${actions.join(', ')}`,
  );
}

/** @throws UsageError for options that are set but mean nothing to the action */
export function refuseOptions<Options extends object>(
  action: string,
  options: Options,
  foreign: readonly (keyof Options & string)[],
): void {
  const set = foreign
    .filter((name) => options[name] !== undefined)
    .map((name) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`));
  if (set.length > 0) throw new UsageError(`${action} has no option --${set.join(', --')}`);
}

/** @throws UsageError for filters of a list beside `--show`, which prints one whatever they say */
export function refuseFilters<Options extends { readonly show?: string }>(
  options: Options,
  filters: readonly (keyof Options & string)[],
): void {
  const set = options.show === undefined ? [] : filters.filter((name) => options[name] !== undefined);
  if (set.length > 0) throw new UsageError(`--show goes without --${set.join(', --')}`);
}

/** @throws UsageError */
export function readLimit(text: string | undefined, usual: number): number {
  if (text === undefined) return usual;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError('--limit: must be a number from 1 up');
  return Number(text);
}
