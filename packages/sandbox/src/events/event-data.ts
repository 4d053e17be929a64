import { exactNumber, parseExact } from '../exact-json.ts';
import { hashText } from '../hash.ts';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import type { UserData } from '../world/user-data.ts';
import { COLLECTION_OF_EVENT, type EventType, type ItemEvent } from './event-types.ts';

/** Fields of the item in `data`, besides the ID (specification 2.4 shows them for research events only). */
const FULL: Readonly<Record<EventType, readonly string[]>> = {
  'research.completed': [],
  'research.failed': [],
  'bulk.completed': ['total_count', 'completed_count', 'failed_count'],
  'bulk.failed': ['total_count', 'completed_count', 'failed_count'],
  'list.analyzed': ['name', 'item_count'],
  'list.failed': ['name'],
  'watchlist.change_detected': ['url', 'score', 'previous_score'],
};

/**
 * `data` of an event, with every digit of the item's fields; undefined: the envelope has no `data`. Research events
 * are as specified, whatever the switch says. An event about an item that does not exist has its ID.
 */
export function eventData(data: UserData, event: ItemEvent, options: SandboxOptions): unknown {
  const { type, id, at } = event;
  const population = data.collection(COLLECTION_OF_EVENT[type]);
  const { keyField } = population.plan.kind;
  const ref = population.find(id, at);
  const item = ref === undefined ? {} : fieldsOf(population.text(ref, at));
  const key = item[keyField] ?? (/^(0|[1-9]\d*)$/.test(id) ? exactNumber(id) : id);
  if (type === 'research.completed' || type === 'research.failed') {
    return {
      [keyField]: key,
      document_id: item['document_id'] ?? hashText(id),
      company_url: item['url'] ?? `https://www.company-${hashText(id)}.example/`,
    };
  }
  switch (options.eventData) {
    case 'full': {
      const shown = FULL[type].filter((name) => item[name] !== undefined);
      return { [keyField]: key, ...Object.fromEntries(shown.map((name) => [name, item[name]])) };
    }
    case 'id-only':
      return { id: key };
    case 'missing':
      return undefined;
    case 'other':
      return {
        resource: { kind: population.plan.kind.keyField, reference: String(hashText(id)) },
        changes: [],
      };
  }
}

function fieldsOf(text: string): Record<string, unknown> {
  try {
    return parseExact(text) as Record<string, unknown>;
  } catch {
    // Tests also insert texts that are not JSON.
    return {};
  }
}
