import { parseArgs } from 'node:util';
import type { AttackSize } from './attack.ts';

/** What `npm run attack --` was asked for. */
export interface Flags extends AttackSize {
  readonly seed: number;
  readonly only: readonly string[];
  readonly parallel: number;
  readonly trace: boolean;
  /** File for the figures. */
  readonly json: string | undefined;
}

/** @throws Error that tells the user what is wrong */
export function readFlags(names: readonly string[], args: readonly string[]): Flags {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
      only: { type: 'string', default: names.join(',') },
      walks: { type: 'string', default: '10000' },
      kills: { type: 'string' },
      minutes: { type: 'string' },
      games: { type: 'string', default: '0' },
      parallel: { type: 'string', default: '12' },
      trace: { type: 'boolean', default: false },
      json: { type: 'string' },
    },
  });
  const only = values.only.split(',');
  const unknown = only.filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    throw new Error(`--only: there is no attack ${unknown.join(', ')}; there are ${names.join(', ')}`);
  }
  return {
    seed: numberOf('seed', values.seed),
    only,
    walks: numberOf('walks', values.walks),
    kills: values.kills === undefined ? undefined : numberOf('kills', values.kills),
    minutes: values.minutes === undefined ? undefined : numberOf('minutes', values.minutes),
    games: numberOf('games', values.games),
    parallel: Math.max(1, numberOf('parallel', values.parallel)),
    trace: values.trace,
    json: values.json,
  };
}

function numberOf(name: string, text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value;
  throw new Error(`--${name} must be a number from 0 up, not '${text}'`);
}
