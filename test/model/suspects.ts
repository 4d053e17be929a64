import type { SuspectChange } from '../../src/model/absence.ts';
import type { SuspectInWorld, World } from './world.ts';

/** The suspected deletions after a change. @param present whether the source has had a row all through the present proof */
export function changed(
  { suspectChange, clock, trail }: World,
  { add, prove, withdraw, withdrawOrdered }: SuspectChange,
  present: (row: { id: number }) => boolean,
): ReadonlyMap<string, SuspectInWorld> {
  if (add.length + prove.length + withdraw.length === 0 && !withdrawOrdered) return suspectChange;
  const next = new Map(suspectChange);
  if (withdrawOrdered) for (const [key, { kind }] of suspectChange) if (kind === 'interval') next.delete(key);
  for (const { key, kind } of add) {
    next.set(key, {
      key,
      kind,
      at: clock,
      proven: false,
      untrue: false,
      sighted: false,
      alike: false,
    });
  }
  for (const key of prove) {
    const suspect = next.get(key);
    if (suspect === undefined)
      throw new Error(`a row that is not in doubt was proven: ${key} ${trail?.event}`);
    next.set(key, { ...suspect, proven: true, untrue: present({ id: Number(key) }) });
  }
  for (const key of withdraw) next.delete(key);
  return next;
}

/** Notes rows that are suspected though they have just been read. */
export function sighted(
  suspectChange: ReadonlyMap<string, SuspectInWorld>,
  keys: readonly string[],
): ReadonlyMap<string, SuspectInWorld> {
  const seen = keys.flatMap((key) => suspectChange.get(key) ?? []);
  if (seen.length === 0) return suspectChange;
  return new Map([
    ...suspectChange,
    ...seen.map((suspect) => [suspect.key, { ...suspect, sighted: true }] as const),
  ]);
}

/** Deletes what was proven twice. */
export function deleteProven(world: World): World {
  const proven = [...world.suspectChange.values()].filter((suspect) => suspect.proven);
  if (proven.length === 0) return world;
  const mirror = new Map(world.mirror);
  const suspectChange = new Map(world.suspectChange);
  for (const { key } of proven) {
    const version = mirror.get(key)?.version ?? 0;
    mirror.set(key, { version, live: false, changedAt: world.clock });
    suspectChange.delete(key);
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
    suspectChange,
    deleted: [...world.deleted, ...deleted],
    trail: { event, before: world.trail },
  };
}
