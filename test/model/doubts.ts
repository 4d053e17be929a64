import type { DoubtChange } from '../../src/model/absence.ts';
import type { Doubt, World } from './world.ts';

/** The rows in doubt after a change. @param present whether the source has had a row all through the present proof */
export function changed(
  { doubts, clock, trail }: World,
  { add, prove, withdraw, withdrawOrdered }: DoubtChange,
  present: (row: { id: number }) => boolean,
): ReadonlyMap<string, Doubt> {
  if (add.length + prove.length + withdraw.length === 0 && !withdrawOrdered) return doubts;
  const next = new Map(doubts);
  if (withdrawOrdered) for (const [key, { kind }] of doubts) if (kind === 'interval') next.delete(key);
  for (const { key, kind } of add) {
    next.set(key, {
      key,
      kind,
      obs: 0,
      at: clock,
      proven: false,
      untrue: false,
      sighted: false,
      alike: false,
    });
  }
  for (const key of prove) {
    const doubt = next.get(key);
    if (doubt === undefined) throw new Error(`a row that is not in doubt was proven: ${key} ${trail?.event}`);
    next.set(key, { ...doubt, proven: true, untrue: present({ id: Number(key) }) });
  }
  for (const key of withdraw) next.delete(key);
  return next;
}

/** Notes rows that are in doubt though they have just been read. */
export function sighted(
  doubts: ReadonlyMap<string, Doubt>,
  keys: readonly string[],
): ReadonlyMap<string, Doubt> {
  const seen = keys.flatMap((key) => doubts.get(key) ?? []);
  if (seen.length === 0) return doubts;
  return new Map([...doubts, ...seen.map((doubt) => [doubt.key, { ...doubt, sighted: true }] as const)]);
}

/** Deletes what was proven twice. */
export function deleteProven(world: World): World {
  const proven = [...world.doubts.values()].filter((doubt) => doubt.proven);
  if (proven.length === 0) return world;
  const mirror = new Map(world.mirror);
  const doubts = new Map(world.doubts);
  for (const { key } of proven) {
    const version = mirror.get(key)?.version ?? 0;
    mirror.set(key, { version, live: false, changedAt: world.clock });
    doubts.delete(key);
  }
  const deleted = proven.map(({ key, kind, untrue, sighted, alike }) => ({
    key,
    untrue,
    sighted,
    alike: kind === 'pair' && alike,
  }));
  const event = `deletes ${proven.map(({ key }) => key).join(' ')}`;
  return {
    ...world,
    mirror,
    doubts,
    deleted: [...world.deleted, ...deleted],
    trail: { event, before: world.trail },
  };
}
