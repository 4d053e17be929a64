import { USUAL_LIMITS } from '../steps/action-names.ts';
import {
  listQuarantine,
  quarantinedTexts,
  type QuarantineList,
} from '../../app/quarantine/quarantine-list.ts';
import { loadConfig } from '../../config/load.ts';
import { COLLECTION_NAMES } from '../../model/collections.ts';
import { chooseAction, readLimit, refuseFilters } from '../steps/choose-action.ts';
import { chooseCollections } from '../steps/choose-collections.ts';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { onMigratedMirror } from '../steps/migrated-mirror.ts';
import { printList } from '../steps/print-list.ts';
import type { Shell } from '../terminal/shell.ts';
import { UsageError } from '../terminal/usage-error.ts';
import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { minute } from '../terminal/text-table.ts';

interface QuarantineOptions {
  readonly show?: string;
  readonly limit?: string;
  readonly json?: boolean;
  readonly demo?: boolean;
}

/** What `quarantine` does. */
export async function quarantineAction(
  shell: Shell,
  given: string,
  names: string[],
  options: QuarantineOptions,
): Promise<ExitCode> {
  chooseAction('quarantine', given, ['list']);
  const collections = chooseCollections(names);
  const { show, json = false, demo = false } = options;
  const most = readLimit(options.limit, USUAL_LIMITS.quarantine);
  refuseFilters(options, ['limit']);
  if (show !== undefined && collections !== undefined) {
    throw new UsageError('--show goes without names of collections');
  }
  if (show !== undefined && !/^[0-9a-f]{4,64}$/i.test(show)) {
    throw new UsageError('--show: takes an ID as "quarantine list" tells it, or its first 4 digits or more');
  }
  const config = loadConfig(shell.env, 'database');
  const which = demo ? 'demo' : 'likely';
  return onMigratedMirror(shell, config, { command: 'quarantine', which }, async ({ db }) => {
    if (show !== undefined) return showItem(shell, await quarantinedTexts(db, show), show, json);
    const listed = await listQuarantine(db, collections ?? COLLECTION_NAMES, most);
    return printList(shell, {
      json: json ? JSON.stringify(listed, undefined, 2) : undefined,
      rows: listed.entries.map((each) => ({
        id: each.id,
        account: each.userId,
        collection: each.collection,
        list: each.list,
        key: each.key,
        'since (UTC)': minute(each.since),
        'last seen': minute(each.lastSeenAt),
        bytes: formatCount(each.size),
        'the item …': each.reason,
      })),
      none: 'nothing is in quarantine',
      below: belowQuarantine(listed),
    });
  });
}

/** Verbatim, but for keys and secrets of ours that a service may have sent back. */
function showItem(shell: Shell, texts: readonly (string | null)[], id: string, json: boolean): ExitCode {
  const [text, other] = texts;
  if (text === undefined || other !== undefined) {
    const what = text === undefined ? 'no item' : 'more than one item';
    shell.err.write(`research-mirror: there is ${what} in quarantine whose ID begins with ${id}\n`);
    return EXIT.NO;
  }
  if (text === null) {
    shell.err.write(
      'research-mirror: the text of this item is not kept: its collection has too many that can’t be mirrored\n',
    );
    return EXIT.NO;
  }
  shell.out.write(shell.scrubber.scrub(`${json ? JSON.stringify({ item: text }) : text}\n`));
  return EXIT.DONE;
}

function belowQuarantine({ items, withoutText, entries }: QuarantineList): string {
  const more =
    items > entries.length ? ` (the newest ${formatCount(entries.length)} are listed: --limit)` : '';
  const without =
    withoutText > 0 ? `, of ${formatCount(withoutText)} without the text: more than is kept` : '';
  return `${countOf(items, 'item')}${more}${without}; --show ID prints one`;
}
