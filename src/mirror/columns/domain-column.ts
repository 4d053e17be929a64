import { collection } from '../../model/collections.ts';
import { domainOf } from '../../model/domain.ts';
import { valueKind } from '../rows/column-value.ts';
import { DOMAIN_COLUMN } from '../table.ts';
import type { FieldColumn } from '../rows/row-payload.ts';

/** No field that has a column contains U+FFFD (column-plan.ts), so no item can be taken for having this one. */
const DOMAIN_FIELD = '\ufffddomain';

/** The domain of an item; undefined for a collection whose items are no companies. */
export function domainColumn(name: string): FieldColumn | undefined {
  const entry = collection(name);
  const from = entry.kind === 'list' ? entry.domainFields : undefined;
  if (from === undefined) return undefined;
  return {
    field: DOMAIN_FIELD,
    name: DOMAIN_COLUMN,
    type: 'text',
    derived: { from, value: firstDomain(from) },
  };
}

/** The first of these fields that has a domain decides. */
const firstDomain =
  (from: readonly string[]) =>
  (fields: ReadonlyMap<string, string>): string | undefined => {
    for (const field of from) {
      const source = fields.get(field);
      if (source === undefined || valueKind(source) !== 'string') continue;
      const domain = domainOf(JSON.parse(source) as string);
      if (domain !== undefined) return domain;
    }
    return undefined;
  };
