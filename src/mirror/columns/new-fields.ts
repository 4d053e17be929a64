import type { SeenFields } from './add-columns.ts';
import { storableName } from './column-plan.ts';
import type { ColumnRegistry } from './column-registry.ts';
import type { RowPayload } from '../rows/row-payload.ts';

/** Most registered fields of a collection: items that use names as data would fill the registry. */
const MAX_FIELDS = 2000;

/** Fields of changed rows that are not registered, with their values; nulls decide nothing. */
export function newFields(
  rows: readonly Pick<RowPayload, 'fields'>[],
  registry: Pick<ColumnRegistry, 'fields'>,
): SeenFields {
  const found = new Map<string, string[]>();
  for (const { fields } of rows) {
    for (const [field, value] of fields) {
      if (registry.fields.has(field) || value === 'null' || !storableName(field)) continue;
      const values = found.get(field);
      if (values !== undefined) values.push(value);
      else if (registry.fields.size + found.size < MAX_FIELDS) found.set(field, [value]);
    }
  }
  return found;
}
