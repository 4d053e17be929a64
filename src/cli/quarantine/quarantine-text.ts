import type { QuarantineList } from '../../app/quarantine/quarantine-list.ts';
import { countOf, formatCount } from '@research-mirror/runtime/figures';
import { formatTable } from '../terminal/text-table.ts';

export function describeQuarantine(
  { items, withoutText, entries }: QuarantineList,
  width: number | undefined,
): string {
  if (items === 0) return 'nothing is in quarantine\n';
  const table = formatTable(
    [
      { title: 'id', align: 'left' },
      { title: 'account', align: 'right' },
      { title: 'collection', align: 'left' },
      { title: 'list', align: 'right' },
      { title: 'key', align: 'left' },
      { title: 'since (UTC)', align: 'left' },
      { title: 'last seen', align: 'left' },
      { title: 'bytes', align: 'right' },
      { title: 'the item …', align: 'left' },
    ],
    entries.map((each) => [
      each.id,
      each.userId,
      each.collection,
      each.list,
      each.key ?? '',
      minute(each.since),
      minute(each.lastSeenAt),
      formatCount(each.size),
      each.reason,
    ]),
    width,
  );
  const more =
    items > entries.length ? ` (the newest ${formatCount(entries.length)} are listed: --limit)` : '';
  const without =
    withoutText > 0 ? `, of ${formatCount(withoutText)} without the text: more than is kept` : '';
  return `${table}${countOf(items, 'item')}${more}${without}; --show ID prints one\n`;
}

function minute(moment: Date): string {
  return moment.toISOString().slice(0, 16).replace('T', ' ');
}
