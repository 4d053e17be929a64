import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import type { SandboxControl } from '@research-mirror/sandbox/testing/control-client';

const LOOK_MS = 10;
/** Given up when a row did not come for so long after the last event. */
const PATIENCE_MS = 600_000;

/** Of each change that was ever told: the mirror shows it by this number. */
let notes = 0;

/**
 * Changes a job and has the service emit an event of it, one after the other; and watches until the mirror shows each change
 * (or a later one of the same job).
 * @returns the delays in ms, sorted
 */
export async function emitAndWatch(
  { control, client }: { readonly control: SandboxControl; readonly client: pg.Client },
  ids: readonly string[],
  everyMs: number,
): Promise<number[]> {
  const open = new Map<string, { readonly note: number; readonly at: number }[]>();
  const delays: number[] = [];
  const told = new AbortController();
  const teller = (async (): Promise<void> => {
    const begin = performance.now();
    for (const [index, id] of ids.entries()) {
      const early = begin + index * everyMs - performance.now();
      if (early > 0) await pause(early);
      const note = (notes += 1);
      await control.mutate({ op: 'update', collection: 'research_jobs', id, fields: { note }, silent: true });
      open.set(id, [...(open.get(id) ?? []), { note, at: performance.now() }]);
      await control.emit({ type: 'research.completed', ids: [id] });
    }
  })().finally(() => told.abort());
  // It is waited for below.
  teller.catch(() => {});
  const patience = performance.now() + ids.length * everyMs + PATIENCE_MS;
  let mark = await markOf(client);
  while (!told.signal.aborted || open.size > 0) {
    if (performance.now() > patience) throw new Error(`${open.size} rows did not come`);
    const { rows } = await client.query<{ job_id: string; note: number; mark: string }>(
      `select job_id, (_raw ->> 'note')::int as note, _change_id as mark from mirror.research_jobs
       where _change_id > $1 order by _change_id`,
      [mark],
    );
    const now = performance.now();
    for (const { job_id: id, note, mark: changed } of rows) {
      mark = changed;
      const waiting = open.get(id) ?? [];
      for (const each of waiting) if (each.note <= note) delays.push(now - each.at);
      const rest = waiting.filter((each) => each.note > note);
      if (rest.length === 0) open.delete(id);
      else open.set(id, rest);
    }
    await pause(LOOK_MS);
  }
  await teller;
  return delays.toSorted((a, b) => a - b);
}

async function markOf(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ mark: string }>(
    'select coalesce(max(_change_id), 0) as mark from mirror.research_jobs',
  );
  return rows[0]?.mark ?? '0';
}
