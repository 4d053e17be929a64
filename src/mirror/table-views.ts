import { type RawBuilder, sql } from 'kysely';
import { type Db, quotedText } from '../postgres/db.ts';
import { SECOND_COLUMN } from './column-registry.ts';
import { makeAnew } from './recreate-view.ts';
import { dataTable, DOMAIN_COLUMN, keyColumns, type KeyPart, relation, type Table } from './table.ts';

/** A column of a data table. */
interface OrderedColumn {
  readonly name: string;
  /** As `format_type` prints it. */
  readonly type: string;
}

/** When the service made the item: the time axis that BI tools should take. */
const CREATED_LIKE =
  /^(?:created|inserted|added|submitted|requested|started|registered)(?:_(?:at|on|time|date))?$/;

/** The mirror's own, last: when and under which number a row came or changed here. */
const OURS_LAST = ['_first_seen_at', '_changed_at', '_change_id'];

/** Columns of the service that the first migration made. */
const DOCUMENTED = new Set(['status', 'email', 'credits', 'subscription', 'org']);

/**
 * The order of a `_live` view's columns: single-column keys, account and key, then what the service sends (plain
 * values, times from the making of the item on, what can't be grouped by), then the mirror's own. BI tools take the
 * first time column for the time axis, and show the first columns.
 * @param columns those of the table that the view shows, in the table's order
 */
export function liveOrder(table: Table, columns: readonly OrderedColumn[]): readonly string[] {
  const key = keyColumns(table);
  const rank = ({ name, type }: OrderedColumn): number => {
    if (key.includes(name)) return key.indexOf(name) - key.length;
    if (OURS_LAST.includes(name)) return 5 + OURS_LAST.indexOf(name);
    if (type.startsWith('timestamp') || type === 'date') return CREATED_LIKE.test(name) ? 2 : 3;
    if (type.startsWith('json')) return 4;
    // What the mirror derives from the item's fields stands behind them.
    return name.startsWith('_') ? 1 : 0;
  };
  const sorted = columns.toSorted((one, other) => rank(one) - rank(other));
  return [...derivedKeys(table).map(({ name }) => name), ...sorted.map(({ name }) => name)];
}

/** Whether a view begins as the migrations made it: its columns have never been put in order. */
export function isOriginalOrder(table: Table, present: readonly string[]): boolean {
  const before = present.slice(0, present.indexOf('_first_seen_at'));
  const known = new Set<string>([...derivedKeys(table).map(({ name }) => name), ...keyColumns(table)]);
  return before.every((name) => known.has(name) || DOCUMENTED.has(name));
}

/** Columns of every table that `_live` leaves out. */
const HIDDEN_LIVE = new Set(['_deleted_at', '_hash', '_raw', '_verbatim']);

/** `<table>_live`: for BI tools, without deleted rows and `_raw`. */
export async function liveView(db: Db, table: Table): Promise<TableView> {
  const { rows } = await db.sql<OrderedColumn>`
    select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
    where attrelid = ${relation(table)} and attnum > 0 and not attisdropped
    order by attnum`;
  const derived = new Map<string, RawBuilder<unknown>>(
    derivedKeys(table).map(({ name, expression }) => [name, expression]),
  );
  const shown = rows.filter(({ name }) => !HIDDEN_LIVE.has(name) && !SECOND_COLUMN.test(name));
  const isLoading = await isFirstLoad(db, table);
  return {
    suffix: '_live',
    columns: liveOrder(table, shown),
    comments: new Map(derivedKeys(table).map(({ name, comment }) => [name, comment])),
    isOpen: (present) => isLoading || isOriginalOrder(table, present),
    query: (names) => sql`
      select ${sql.join(
        names.map((name) => {
          const expression = derived.get(name);
          return expression === undefined ? sql.id(name) : sql`${expression} as ${sql.id(name)}`;
        }),
      )}
      from ${dataTable(table)} where _deleted_at is null`,
  };
}

/** No account's collection has been read to its end so far: fields that are rare or null at first still come. */
async function isFirstLoad(db: Db, table: Table): Promise<boolean> {
  const { rows } = await db.sql<{ done: boolean }>`
    select count(*) > 0 as done from ${db.table('_collections')}
    where collection = ${table.name} and complete_as_of is not null`;
  return rows[0]?.done !== true;
}

/** A text made of the key's columns: a single-column key for BI tools. */
interface DerivedKey {
  readonly name: '_key' | '_list_key';
  /** Immutable: an index can have it, and serves what asks the view for the column. */
  readonly expression: RawBuilder<unknown>;
  /** Of the view's column. */
  readonly comment: string;
}

/** `_key` of each table, and `_list_key` of one whose rows belong to the rows of another. */
function derivedKeys(table: Table): readonly DerivedKey[] {
  const { parent, key } = table;
  const names = keyColumns(table);
  const parts = [parent, key].filter((part) => part !== undefined);
  const whole: DerivedKey = {
    name: '_key',
    expression: joined(names, parts),
    comment: 'By the mirror: the whole primary key as one text, for tools that join by one column.',
  };
  if (parent === undefined) return [whole];
  const ofParent: DerivedKey = {
    name: '_list_key',
    expression: joined(names.slice(0, -1), [parent]),
    comment: 'By the mirror: the _key of the list in lists_live.',
  };
  return [whole, ofParent];
}

/** @param parts of the key, after `_user_id`, which is a bigint */
function joined(names: readonly string[], parts: readonly KeyPart[]): RawBuilder<unknown> {
  const isNumber = (name: string): boolean => parts.find(({ column }) => column === name)?.type !== 'text';
  // The cast of a number is immutable, what `bigint || text` does is not.
  return sql.join(
    names.map((name) => (isNumber(name) ? sql`${sql.id(name)}::text` : sql.id(name))),
    sql` || ':' || `,
  );
}

/** Columns of every table that `_versions` leaves out. */
const HIDDEN_VERSIONS = new Set(['_deleted_at', '_hash', '_verbatim', DOMAIN_COLUMN]);

/** Columns that the view adds, for current versions and for those in history. */
const OF_VERSION = new Map<
  string,
  { readonly current: RawBuilder<unknown>; readonly past: RawBuilder<unknown> }
>([
  ['_valid_from', { current: sql`_changed_at as _valid_from`, past: sql`_valid_from` }],
  ['_valid_to', { current: sql`null::timestamptz as _valid_to`, past: sql`_valid_to` }],
  ['_is_current', { current: sql`true as _is_current`, past: sql`false` }],
  ['_op', { current: sql`null::text as _op`, past: sql`_op` }],
]);

interface BothSides {
  readonly name: string;
  readonly type: string;
  readonly in_table: boolean;
  readonly in_history: boolean;
}

/** `<table>_versions`: current and superseded versions together; a column of one table alone is null in the other. */
export async function versionsView(db: Db, table: Table): Promise<TableView> {
  const columns = new Map(
    (await bothSides(db, table))
      .filter(({ name }) => !HIDDEN_VERSIONS.has(name) && !OF_VERSION.has(name) && !SECOND_COLUMN.test(name))
      .map((column) => [column.name, column]),
  );
  const select = (
    names: readonly string[],
    side: 'in_table' | 'in_history',
    ofVersion: 'current' | 'past',
  ): RawBuilder<unknown> =>
    sql.join(
      names.map((name) => {
        const added = OF_VERSION.get(name)?.[ofVersion];
        const column = columns.get(name);
        if (added !== undefined || column === undefined) return added ?? sql.id(name);
        return column[side] ? sql.id(name) : sql`null::${sql.raw(column.type)} as ${sql.id(name)}`;
      }),
    );
  return {
    suffix: '_versions',
    columns: [...columns.keys(), ...OF_VERSION.keys()],
    comments: new Map(),
    isOpen: () => false,
    query: (names) => sql`
      select ${select(names, 'in_table', 'current')} from ${dataTable(table)} where _deleted_at is null
      union all
      select ${select(names, 'in_history', 'past')} from ${dataTable(table, '_history')}`,
  };
}

/** Columns of table and history; one that has another type in history counts as missing there. */
async function bothSides(db: Db, table: Table): Promise<BothSides[]> {
  const attributes = (suffix: string): RawBuilder<unknown> => sql`
    select attname, attnum, atttypid, atttypmod, attcollation from pg_attribute
    where attrelid = ${relation(table, suffix)} and attnum > 0 and not attisdropped`;
  const { rows } = await db.sql<BothSides>`
    select coalesce(a.attname, h.attname) as name,
      format_type(coalesce(a.atttypid, h.atttypid), coalesce(a.atttypmod, h.atttypmod)) as type,
      a.attname is not null as in_table,
      h.attname is not null and (a.attname is null
        or (a.atttypid, a.atttypmod, a.attcollation) = (h.atttypid, h.atttypmod, h.attcollation)) as in_history
    from (${attributes('')}) as a full join (${attributes('_history')}) as h on h.attname = a.attname
    order by a.attnum, h.attnum`;
  return rows;
}

/** A view that gets each new column of its table. */
interface TableView {
  /** `_live` or `_versions`. */
  readonly suffix: string;
  /** Every column that it may have, in the order of a new view. */
  readonly columns: readonly string[];
  /** Of columns that the table has not. */
  readonly comments: ReadonlyMap<string, string>;
  /** Whether a view with these columns, in this order, may still get another order. */
  readonly isOpen: (present: readonly string[]) => boolean;
  /** Its query for these columns, in this order. */
  readonly query: (names: readonly string[]) => RawBuilder<unknown>;
}

/**
 * Brings a view's new columns in. While the order is open and nothing depends on the view, it is made anew in the best
 * order; else they are appended in place. Grants, comments and options survive both, views upon it the second. A
 * missing view is created again; one that somebody rebuilt stays as it is.
 */
export async function extendView(trx: Db, table: Table, view: TableView): Promise<void> {
  const present = await presentView(trx, table, view.suffix);
  const before = present?.columns ?? [];
  const added = view.columns.filter((column) => !before.includes(column));
  const isInOrder = added.length === 0 && before.every((column, index) => column === view.columns[index]);
  const mayMakeAnew = present !== undefined && !isInOrder && view.isOpen(before);
  if (added.length === 0 && !mayMakeAnew) return;
  if (present !== undefined && !(await isOurs(trx, table, view, present))) return;
  const create = (columns: readonly string[]): Promise<void> =>
    createView(trx, table, view, {
      columns,
      options: present === undefined ? 'security_invoker=true' : present.options,
    });
  const isAnew = mayMakeAnew && (await makeAnew(trx, table, view.suffix, () => create(view.columns)));
  if (added.length === 0) return;
  if (!isAnew) await create([...before, ...added]);
  await describe(trx, table, view, added);
}

/** A view as it stands. */
interface StandingView {
  /** In its order. */
  readonly columns: readonly string[];
  /** `security_invoker=true`, …; replacing a view drops them. */
  readonly options: string | null;
}

/** Makes the view with these columns, in this order. */
async function createView(
  trx: Db,
  table: Table,
  view: TableView,
  { columns, options }: StandingView,
): Promise<void> {
  const given = options === null || options === '' ? sql`` : sql`with (${sql.raw(options)})`;
  await trx.sql`create or replace view ${dataTable(table, view.suffix)} ${given} as ${view.query(columns)}`;
}

/** Copies the comments of the table's columns: BI tools show those of the view's. */
async function describe(trx: Db, table: Table, view: TableView, added: readonly string[]): Promise<void> {
  const { rows } = await trx.sql<{ column: string; comment: string }>`
    select a.attname as column, col_description(a.attrelid, a.attnum) as comment from pg_attribute as a
    where a.attrelid = ${relation(table)}
      and a.attname = any(${[...added]}::text[]) and col_description(a.attrelid, a.attnum) is not null`;
  const own = added.flatMap((column) => {
    const comment = view.comments.get(column);
    return comment === undefined ? [] : [{ column, comment }];
  });
  for (const { column, comment } of [...rows, ...own]) {
    await trx.sql`comment on column ${dataTable(table, view.suffix)}.${sql.id(column)} is ${sql.raw(quotedText(comment))}`;
  }
}

interface PresentView extends StandingView {
  readonly definition: string;
  /** This database user may replace it. */
  readonly owned: boolean;
}

async function presentView(db: Db, table: Table, suffix: string): Promise<PresentView | undefined> {
  const { rows } = await db.sql<PresentView>`
    select pg_get_viewdef(c.oid) as definition, array_to_string(c.reloptions, ', ') as options,
      pg_has_role(c.relowner, 'usage') as owned,
      array(select a.attname::text from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by a.attnum) as columns
    from pg_class c
    where c.oid = ${relation(table, suffix)} and c.relkind = 'v'`;
  return rows[0];
}

/** Whether the view reads as we would write it: a view that is written so, read back and dropped, reads the same. */
async function isOurs(
  trx: Db,
  table: Table,
  view: TableView,
  { columns, definition, owned }: PresentView,
): Promise<boolean> {
  if (!owned || !columns.every((column) => view.columns.includes(column))) return false;
  const suffix = `${view.suffix}_as_written`;
  await trx.sql`create view ${dataTable(table, suffix)} as ${view.query(columns)}`;
  const written = await presentView(trx, table, suffix);
  await trx.sql`drop view ${dataTable(table, suffix)}`;
  return written?.definition === definition;
}
