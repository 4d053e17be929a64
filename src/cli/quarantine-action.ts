import { listQuarantine, quarantinedTexts, type QuarantineList } from '../app/quarantine/quarantine-list.ts';
import { COLLECTION_NAMES } from '../model/collections.ts';
import type { Options } from './definitions/definition.ts';
import { chooseCollections, readLimit, refuseFilters, USUAL_LIMITS } from './steps/given.ts';
import { onMirror } from './steps/mirror.ts';
import { printList } from './steps/print-list.ts';
import { EXIT, UsageError, type ExitCode } from './terminal/exit-code.ts';
import { complain, say, type Shell } from './terminal/shell.ts';
import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { minute } from './terminal/text-table.ts';

/** What `quarantine` does. */
export async function quarantineAction(
  shell: Shell,
  _: string,
  names: string[],
  options: Options<'json' | 'demo', 'limit' | 'show'>,
): Promise<ExitCode> {
  const collections = chooseCollections(names);
  const { show, json = false, demo } = options;
  const most = readLimit(options.limit, USUAL_LIMITS.quarantine);
  refuseFilters(options, ['limit']);
  if (show !== undefined && collections !== undefined) {
    throw new UsageError('--show goes without names of collections');
  }
  if (show !== undefined && !/^[0-9a-f]{4,64}$/i.test(show)) {
    throw new UsageError('--show: takes an ID as "quarantine list" tells it, or its first 4 digits or more');
  }
  return onMirror(shell, 'quarantine', { demo }, async ({ db }) => {
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
    complain(shell, `there is ${what} in quarantine whose ID begins with ${id}`);
    return EXIT.NO;
  }
  if (text === null) {
    complain(shell, 'the text of this item is not kept: its collection has too many that can’t be mirrored');
    return EXIT.NO;
  }
  say(shell, json ? JSON.stringify({ item: text }) : text);
  return EXIT.DONE;
}

function belowQuarantine({ items, withoutText, entries }: QuarantineList): string {
  const more =
    items > entries.length ? ` (the newest ${formatCount(entries.length)} are listed: --limit)` : '';
  const without =
    withoutText > 0 ? `, of ${formatCount(withoutText)} without the text: more than is kept` : '';
  return `${countOf(items, 'item')}${more}${without}; --show ID prints one`;
}
