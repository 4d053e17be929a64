import { countOf, formatCount } from '@research-mirror/runtime/figures';
import type { Config } from '../config/config.ts';
import { eventTexts, listEvents, replayEvents, type StoredEvent } from '../events/event-store.ts';
import type { Db } from '../postgres/db.ts';
import { ownIdentity } from '../postgres/heartbeat.ts';
import { daemonLives } from '../postgres/lease.ts';
import { wake } from '../postgres/notifications.ts';
import { readLimit, refuseFilters, USUAL_LIMITS } from '../terminal/given.ts';
import { onMirror } from '../terminal/open-mirror.ts';
import { Progress } from '../terminal/progress.ts';
import { complain, EXIT, type Options, say, type Shell, UsageError } from '../terminal/shell.ts';
import { minute, printNewest } from '../terminal/text-table.ts';

export async function eventsAction(
  shell: Shell,
  action: string,
  ids: string[],
  options: Options<'json' | 'demo', 'type' | 'limit' | 'show'>,
) {
  if (action === 'list' && ids.length > 0) throw new UsageError('events list takes no IDs. --show ID prints one event');
  refuseFilters(options, ['type', 'limit']);
  if (action === 'replay' && ids.length === 0)
    throw new UsageError('events replay needs IDs. "events list" shows them');
  const { json = false, demo, show, type } = options;
  const limit = readLimit(options.limit, USUAL_LIMITS.events);
  return onMirror(shell, 'events', { demo }, async ({ config, db }) => {
    if (action === 'replay') return replay(shell, config, db, [...new Set(ids)], json);
    if (show !== undefined) {
      const texts = await eventTexts(db, show);
      if (texts.length === 0) {
        complain(shell, `there is no event ${JSON.stringify(show)}: it never arrived, or its retention has ended`);
        return EXIT.NO;
      }
      say(shell, json ? `{"events":[${texts.join(',\n')}]}` : texts.join('\n'));
      return EXIT.DONE;
    }
    const found = await listEvents(db, { limit: limit + 1, ...(type !== undefined && { type }) });
    const none = type === undefined ? 'no event was received yet' : `there is no event of type ${JSON.stringify(type)}`;
    const toRow = (each: StoredEvent) => ({
      id: each.id,
      account: each.userId,
      type: each.type,
      'received (UTC)': minute(each.receivedAt),
      created: each.createdAt && minute(each.createdAt),
      names: each.collection && `${each.collection} ${each.key ?? ''}`,
    });
    // The data keep their text, with every digit.
    const toJson = ({ data, ...rest }: StoredEvent) => `${JSON.stringify(rest).slice(0, -1)},"data":${data ?? 'null'}}`;
    const how = { limit, noun: 'event', none, shows: 'one', toRow, toJson: json ? toJson : undefined };
    return printNewest(shell, found, how);
  });
}

const LOOK_MS = 250;
/** How long (ms) it waits: what is still unread waits for something else, such as a stopped account. */
const PATIENCE_MS = 60_000;

/** Replays events and waits until the daemon has read what they name. What it does not read in time stays due. */
async function replay(shell: Shell, { collections }: Config, db: Db, ids: readonly string[], json: boolean) {
  const { clock, signal } = shell;
  const events = await replayEvents(db, ids, collections);
  await wake(db);
  // One for each account that has the event.
  const replayed = events.map(({ id }) => id);
  const missing = ids.filter((id) => !replayed.includes(id));
  const daemon = await daemonLives(db, await ownIdentity());
  const all = events.flatMap(({ userId, rows }) => rows.map((row) => ({ userId, ...row })));
  const named = [...new Map(all.map((row) => [JSON.stringify(row), row])).values()];
  const [userIds, names, parents, keys] = (['userId', 'collection', 'parent', 'key'] as const).map((field) =>
    named.map((row) => row[field]),
  );
  const rows = named.length;
  const until = clock.monotonic() + PATIENCE_MS;
  const progress = new Progress(shell);
  let read = 0;
  try {
    for (;;) {
      // Each reading removes a hint, or raises its step.
      const { rows: found } = await db.sql<{ unread: number }>`
        select count(*)::int as unread from ${db.stateTable('hint')} as h
        join unnest(${userIds}::bigint[], ${names}::text[], ${parents}::text[], ${keys}::text[]) as x (user_id, collection, parent, key)
          on h._user_id = x.user_id and h.collection = x.collection and h.parent = x.parent and h.key = x.key
        where h.step = 0`;
      read = rows - (found[0]?.unread ?? 0);
      progress.show(`reading again: ${read} of ${rowsAndLists(rows)}`);
      if (!daemon || read === rows || clock.monotonic() > until) break;
      await clock.sleep(LOOK_MS, signal);
    }
  } finally {
    progress.end();
  }
  const told = `${countOf(replayed.length, 'event')} replayed; ${read} of ${rowsAndLists(rows)} read again`;
  say(shell, json ? JSON.stringify({ replayed, missing, rows, read, daemon }) : told);
  for (const id of missing) complain(shell, `there is no event ${JSON.stringify(id)}`);
  if (read < rows) {
    const late = 'the daemon has not read the rest yet; it stays due';
    complain(shell, daemon ? late : 'no daemon runs; the rest is read when one does');
  }
  if (missing.length > 0) return EXIT.NO;
  return read < rows && daemon ? EXIT.FAILED : EXIT.DONE;
}

function rowsAndLists(count: number): string {
  return `${formatCount(count)} ${count === 1 ? 'row or list' : 'rows and lists'}`;
}
