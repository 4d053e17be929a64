import { EVENTS_ACTIONS, USUAL_LIMITS } from '../steps/action-names.ts';
import type { Db } from '../../db/connection/db.ts';
import { type ReplayProgress, replayAndFollow } from '../../app/events/events-replay.ts';
import type { Config } from '../../config/config.ts';
import { loadConfig } from '../../config/load.ts';
import { eventTexts, listEvents, type StoredEvent } from '../../db/events/stored-events.ts';
import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { chooseAction, readLimit, refuseFilters, refuseOptions } from '../steps/choose-action.ts';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { onMigratedMirror } from '../steps/migrated-mirror.ts';
import { printNewest, type Row } from '../steps/print-list.ts';
import { Progress } from '../terminal/progress.ts';
import type { Shell } from '../terminal/shell.ts';
import { UsageError } from '../terminal/usage-error.ts';
import { minute } from '../terminal/text-table.ts';

interface Options {
  readonly type?: string;
  readonly limit?: string;
  readonly show?: string;
  readonly json?: boolean;
  readonly demo?: boolean;
}

/** What `events` does. */
export async function eventsAction(
  shell: Shell,
  given: string,
  ids: string[],
  options: Options,
): Promise<ExitCode> {
  const action = chooseAction('events', given, EVENTS_ACTIONS);
  if (action === 'list' && ids.length > 0)
    throw new UsageError('events list takes no IDs: --show prints one');
  if (action === 'replay') refuseOptions('events replay', options, ['type', 'limit', 'show']);
  refuseFilters(options, ['type', 'limit']);
  if (action === 'replay' && ids.length === 0) throw new UsageError('events replay: which ones?');
  const { json = false, show, type } = options;
  const limit = readLimit(options.limit, USUAL_LIMITS.events);
  const config = loadConfig(shell.env, 'database');
  const which = options.demo === true ? 'demo' : 'likely';
  return onMigratedMirror(shell, config, { command: 'events', which }, async ({ db }) => {
    if (action === 'replay') return replay(shell, config, db, [...new Set(ids)], json);
    if (show !== undefined) return showOne(shell, db, show, json);
    return printNewest(shell, {
      limit,
      find: (most) => listEvents(db, { limit: most, ...(type === undefined ? {} : { type }) }),
      json,
      toJson: eventJson,
      toRow,
      noun: 'event',
      none:
        type === undefined ? 'no event was received yet' : `no event of type ${JSON.stringify(type)} is here`,
      shows: 'one',
    });
  });
}

async function showOne(shell: Shell, db: Db, id: string, json: boolean): Promise<ExitCode> {
  const texts = await eventTexts(db, id);
  if (texts.length === 0) {
    shell.err.write(
      `research-mirror: there is no event ${JSON.stringify(id)}: it never came, or its time is over\n`,
    );
    return EXIT.NO;
  }
  const text = json ? `{"events":[${texts.join(',\n')}]}` : texts.join('\n');
  shell.out.write(shell.scrubber.scrub(`${text}\n`));
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
  const line = ({ rows, read }: ReplayProgress): string => `reading again: ${read} of ${rowsAndLists(rows)}`;
  let report: Awaited<ReturnType<typeof replayAndFollow>>;
  try {
    report = await replayAndFollow(config, db, {
      ids,
      clock: shell.clock,
      signal: shell.signal,
      onProgress: (each) => progress.show(line(each)),
    });
  } finally {
    progress.end();
  }
  const { replayed, missing, rows, read, daemon } = report;
  if (json) shell.out.write(`${JSON.stringify(report)}\n`);
  else
    shell.out.write(
      `${countOf(replayed.length, 'event')} taken up again; ${read} of ${rowsAndLists(rows)} read\n`,
    );
  for (const id of missing) shell.err.write(`research-mirror: there is no event ${JSON.stringify(id)}\n`);
  if (read < rows) {
    const why = daemon
      ? 'the daemon has not come to it yet: it stays due'
      : 'no daemon runs: it is read when one does';
    shell.err.write(`research-mirror: ${why}\n`);
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
