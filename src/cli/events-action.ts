import type { Db } from '../db/connection/db.ts';
import { replayAndFollow } from '../app/events/events-replay.ts';
import type { Config } from '../config/config.ts';
import { eventTexts, listEvents, type StoredEvent } from '../db/events/stored-events.ts';
import { countOf, formatCount } from '@research-mirror/runtime/figures';
import type { Options } from './definitions/definition.ts';
import { readLimit, refuseFilters, USUAL_LIMITS } from './steps/given.ts';
import { onMirror } from './steps/mirror.ts';
import { printNewest, type Row } from './steps/print-list.ts';
import { EXIT, UsageError, type ExitCode } from './terminal/exit-code.ts';
import { Progress } from './terminal/progress.ts';
import { complain, say, type Shell } from './terminal/shell.ts';
import { minute } from './terminal/text-table.ts';

/** What `events` does. */
export async function eventsAction(
  shell: Shell,
  action: string,
  ids: string[],
  options: Options<'json' | 'demo', 'type' | 'limit' | 'show'>,
): Promise<ExitCode> {
  if (action === 'list' && ids.length > 0)
    throw new UsageError('events list takes no IDs: --show prints one');
  refuseFilters(options, ['type', 'limit']);
  if (action === 'replay' && ids.length === 0) throw new UsageError('events replay: which ones?');
  const { json = false, demo, show, type } = options;
  const limit = readLimit(options.limit, USUAL_LIMITS.events);
  return onMirror(shell, 'events', { demo }, async ({ config, db }) => {
    if (action === 'replay') return replay(shell, config, db, [...new Set(ids)], json);
    if (show !== undefined) return showOne(shell, db, show, json);
    const found = await listEvents(db, { limit: limit + 1, ...(type !== undefined && { type }) });
    const none =
      type === undefined ? 'no event was received yet' : `no event of type ${JSON.stringify(type)} is here`;
    const toJson = json ? eventJson : undefined;
    return printNewest(shell, found, { limit, noun: 'event', none, shows: 'one', toRow, toJson });
  });
}

async function showOne(shell: Shell, db: Db, id: string, json: boolean): Promise<ExitCode> {
  const texts = await eventTexts(db, id);
  if (texts.length === 0) {
    complain(shell, `there is no event ${JSON.stringify(id)}: it never came, or its time is over`);
    return EXIT.NO;
  }
  say(shell, json ? `{"events":[${texts.join(',\n')}]}` : texts.join('\n'));
  return EXIT.DONE;
}

async function replay(
  shell: Shell,
  config: Config,
  db: Db,
  ids: readonly string[],
  json: boolean,
): Promise<ExitCode> {
  const progress = new Progress(shell);
  const report = await replayAndFollow(config, db, ids, shell, (rows, read) =>
    progress.show(`reading again: ${read} of ${rowsAndLists(rows)}`),
  ).finally(() => progress.end());
  const { replayed, missing, rows, read, daemon } = report;
  const told = `${countOf(replayed.length, 'event')} taken up again; ${read} of ${rowsAndLists(rows)} read`;
  say(shell, json ? JSON.stringify(report) : told);
  for (const id of missing) complain(shell, `there is no event ${JSON.stringify(id)}`);
  if (read < rows) {
    const late = 'the daemon has not come to it yet: it stays due';
    complain(shell, daemon ? late : 'no daemon runs: it is read when one does');
  }
  if (missing.length > 0) return EXIT.NO;
  return read < rows && daemon ? EXIT.FAILED : EXIT.DONE;
}

function rowsAndLists(count: number): string {
  return `${formatCount(count)} ${count === 1 ? 'row or list' : 'rows and lists'}`;
}

function toRow(each: StoredEvent): Row {
  return {
    id: each.id,
    account: each.userId,
    type: each.type,
    'received (UTC)': minute(each.receivedAt),
    made: each.createdAt && minute(each.createdAt),
    names: each.collection && `${each.collection} ${each.key ?? ''}`,
  };
}

/** As a JSON object; its data stand in it as they came, digit by digit. */
function eventJson({ data, ...rest }: StoredEvent): string {
  return `${JSON.stringify(rest).slice(0, -1)},"data":${data ?? 'null'}}`;
}
