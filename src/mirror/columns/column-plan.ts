import { timestampText } from '../../model/json/timestamp-text.ts';
import { columnName } from './column-name.ts';
import { integerText, type ColumnType, type ValueKind, valueKind } from '../rows/column-value.ts';
import { namedLikeTime } from './time-name.ts';

/** Longest name of a field that gets a column; longer ones, in bytes, stay in `_raw`, unregistered. */
const MAX_FIELD_BYTES = 1024;

/** Most columns a table may have; further fields stay in `_raw`. PostgreSQL's limit is 1600, dropped ones included. */
export const MAX_COLUMNS = 300;

/** A field of a collection and the column it has; `name` undefined: it stays in `_raw` only. */
export interface PlannedColumn {
  readonly field: string;
  readonly name: string | undefined;
  readonly type: ColumnType;
}

export interface PlanInput {
  /** Fields without a column so far, with source texts of values that were seen of them. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** Fields registered earlier that have no column so far: they come first. */
  readonly waiting: readonly { readonly field: string; readonly type: ColumnType }[];
  /** Names of all columns that the table has, whoever made them. */
  readonly taken: ReadonlySet<string>;
  /** `MIRROR_SCHEMA_DRIFT` */
  readonly drift: 'add' | 'raw';
}

/**
 * Columns for new fields (docs/design/writing-a-page.md, "Columns"). A field of which only nulls were seen is
 * left out: they decide nothing. Fields that already are plain column names choose first, then the others by name.
 */
export function planColumns(input: PlanInput): PlannedColumn[] {
  const taken = new Set(input.taken);
  const fields = [...input.values.keys()].filter(storableName).sort();
  const plain = (field: string): boolean => columnName(field, new Set()) === field;
  const wanted = [
    ...input.waiting,
    ...[...fields.filter(plain), ...fields.filter((field) => !plain(field))].map((field) => ({
      field,
      type: columnType(field, input.values.get(field) ?? []),
    })),
  ];
  return wanted.flatMap(({ field, type }): PlannedColumn[] => {
    if (type === undefined) return [];
    if (input.drift === 'raw' || taken.size >= MAX_COLUMNS) return [{ field, name: undefined, type }];
    const name = columnName(field, taken);
    taken.add(name);
    return [{ field, name, type }];
  });
}

/**
 * PostgreSQL's text holds neither U+0000 nor lone surrogates: such fields stay in `_raw`, unregistered. So do those with
 * U+FFFD, which takes their place there: another field's value would come into their column.
 */
export function storableName(field: string): boolean {
  return !/[\0\ufffd]/.test(field) && field.isWellFormed() && Buffer.byteLength(field) <= MAX_FIELD_BYTES;
}

const INTEGER_NAME = /^(?:id|.*_id|.*_count)$/;

/**
 * The type that a field's values ask for; where they are of several kinds, the most frequent one decides.
 * @returns undefined while all are null
 */
export function columnType(field: string, sources: readonly string[]): ColumnType | undefined {
  const byKind = new Map<ValueKind, string[]>();
  for (const source of sources) {
    const kind = valueKind(source);
    const same = byKind.get(kind);
    if (same === undefined) byKind.set(kind, [source]);
    else same.push(source);
  }
  byKind.delete('null');
  const [kind, values = []] = [...byKind].toSorted(([, a], [, b]) => b.length - a.length)[0] ?? [];
  const snake = columnName(field, new Set());
  if (kind === 'string') {
    const moments = values.map((source) => timestampText(JSON.parse(source) as string));
    return namedLikeTime(snake) && !moments.includes(undefined) ? 'timestamptz' : 'text';
  }
  if (kind === 'number') {
    return INTEGER_NAME.test(snake) && !values.map(integerText).includes(undefined) ? 'bigint' : 'numeric';
  }
  if (kind === 'boolean') return 'boolean';
  return kind === 'structure' ? 'jsonb' : undefined;
}
