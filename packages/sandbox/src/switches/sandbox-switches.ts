import { ANSWER_SWITCHES } from './answer-switches.ts';
import { DATA_SWITCHES } from './data-switches.ts';
import { EVENT_SWITCHES } from './event-switches.ts';
import { FAULT_SWITCHES } from './fault-switches.ts';
import { LIMIT_SWITCHES } from './limit-switches.ts';
import { LIST_SWITCHES } from './list-switches.ts';
import { SERVICE_SWITCHES } from './service-switches.ts';
import type { Switch } from './switch-kind.ts';

const TABLE = {
  ...SERVICE_SWITCHES,
  ...DATA_SWITCHES,
  ...LIST_SWITCHES,
  ...LIMIT_SWITCHES,
  ...ANSWER_SWITCHES,
  ...EVENT_SWITCHES,
  ...FAULT_SWITCHES,
};

/** All options of a sandbox, each with a value. */
export type SandboxOptions = {
  readonly [Name in keyof typeof TABLE]: (typeof TABLE)[Name] extends Switch<infer Value> ? Value : never;
};

/** Every switch of the sandbox: the command line, the validation and the docs come from this table. */
export const SANDBOX_SWITCHES: { readonly [Name in keyof SandboxOptions]: Switch<SandboxOptions[Name]> } =
  TABLE;

export const SWITCH_NAMES = Object.keys(TABLE) as readonly (keyof SandboxOptions)[];

/** `newJobsPerMinute` → `new-jobs-per-minute`, `fault500` → `fault-500`: the switch on the command line. */
export function flagOf(name: keyof SandboxOptions): string {
  return name
    .replaceAll(/([a-z])([A-Z0-9])/g, '$1-$2')
    .replaceAll(/(\d)([A-Z])/g, '$1-$2')
    .toLowerCase();
}
