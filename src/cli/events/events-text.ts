import type { StoredEvent } from '../../db/events/stored-events.ts';
import { minute } from '../submissions/submit-text.ts';
import { formatTable } from '../terminal/text-table.ts';

export function describeEvents(events: readonly StoredEvent[], width: number | undefined): string {
  return formatTable(
    [
      { title: 'id', align: 'left' },
      { title: 'account', align: 'right' },
      { title: 'type', align: 'left' },
      { title: 'received (UTC)', align: 'left' },
      { title: 'made', align: 'left' },
      { title: 'names', align: 'left' },
    ],
    events.map((each) => [
      each.id,
      each.userId,
      each.type ?? '',
      minute(each.receivedAt),
      each.createdAt === null ? '' : minute(each.createdAt),
      each.collection === null ? '' : `${each.collection} ${each.key ?? ''}`,
    ]),
    width,
  );
}

/** As a JSON object; its data stand in it as they came, digit by digit. */
export function eventJson({ data, ...rest }: StoredEvent): string {
  return `${JSON.stringify(rest).slice(0, -1)},"data":${data ?? 'null'}}`;
}
