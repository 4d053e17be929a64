import type { ExitCode } from '../terminal/exit-code.ts';
import type { Shell } from '../terminal/shell.ts';

/** What a command does. Commander gives it the action's name (where there are actions), the arguments, the options. */
type Action = (shell: Shell, ...args: never[]) => Promise<ExitCode>;

/** What can be typed of a command. Help and every other command load it, too: it imports neither Postgres nor HTTP. */
export interface Definition {
  readonly summary: string;
  readonly description: string;
  /** Replaces commander's own line of usage. */
  readonly usage?: string;
  /** What it can do where that is several things, the usual one first, each with the options that mean nothing to it. */
  readonly actions?: Readonly<Record<string, readonly string[]>>;
  readonly arguments?: Readonly<Record<string, string>>;
  readonly options?: Readonly<Record<string, string>>;
  readonly examples: readonly (readonly [command: string, does: string])[];
  readonly load: () => Promise<Action>;
}

/** Options as commander gives them: by names of those without a value, and of those with one. */
export type Options<Flag extends string, Valued extends string = never> = {
  readonly [Name in Flag]?: boolean;
} & { readonly [Name in Valued]?: string };

export const DEMO = { '--demo': "the demo's mirror, when there is one of your own too" };
export const JSON_ON_STDOUT = { '--json': 'as JSON on stdout' };
