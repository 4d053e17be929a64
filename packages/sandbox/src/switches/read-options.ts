import { SANDBOX_SWITCHES, SWITCH_NAMES, flagOf, isLive, type SandboxOptions } from './sandbox-switches.ts';

export type OptionsReading = { readonly options: SandboxOptions } | { readonly problems: readonly string[] };

/**
 * Reads options by the switches' names, from texts (a command line) or values (JSON, code). What is left out keeps its
 * value in `base`, or its default. Every problem is listed: a wrong value never becomes a default.
 * @param input undefined values count as left out
 * @param base options in force, when a running sandbox is changed: then only live switches may be named
 */
export function readSandboxOptions(input: Readonly<Record<string, unknown>>, base?: SandboxOptions): OptionsReading {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const name of SWITCH_NAMES) values[name] = base?.[name] ?? SANDBOX_SWITCHES[name].default;
  for (const [name, given] of Object.entries(input)) {
    if (given === undefined) continue;
    if (!isSwitch(name)) {
      problems.push(`${name}: unknown switch`);
    } else if (base !== undefined && !isLive(name)) {
      problems.push(`${flagOf(name)}: can't be changed while the sandbox runs`);
    } else {
      const reading = SANDBOX_SWITCHES[name].read(given);
      if ('problem' in reading) problems.push(`${flagOf(name)}: ${reading.problem}, but is ${JSON.stringify(given)}`);
      else values[name] = reading.value;
    }
  }
  const options = values as unknown as SandboxOptions;
  if (problems.length === 0) problems.push(...contradictions(options));
  return problems.length === 0 ? { options } : { problems };
}

function contradictions(options: SandboxOptions): string[] {
  const problems: string[] = [];
  if (options.latencyMin > options.latencyMax) problems.push('latency-min: must not be more than latency-max');
  if (options.deliveryDelayMin > options.deliveryDelayMax)
    problems.push('delivery-delay-min: must not be more than delivery-delay-max');
  if (options.port !== 0 && options.port === options.controlPort) problems.push('control-port: must differ from port');
  const faults = SWITCH_NAMES.filter((name) => name.startsWith('fault') && SANDBOX_SWITCHES[name].kind === 'share');
  const sum = faults.reduce((total, name) => total + Number(options[name]), 0);
  if (sum > 1.000_001) problems.push(`fault-…: the probabilities add up to ${sum}, more than 1`);
  return problems;
}

function isSwitch(name: string): name is keyof SandboxOptions {
  return Object.hasOwn(SANDBOX_SWITCHES, name);
}
