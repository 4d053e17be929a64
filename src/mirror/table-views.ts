import { type RawBuilder, sql } from 'kysely';
import { type Db, quotedText } from '../postgres/db.ts';
import { SECOND_COLUMN } from './columns.ts';
import { recreateView } from './recreate-view.ts';
import { dataTable, DOMAIN_COLUMN, keyColumns, relation, type Table } from './table.ts';

/** A column of a data table; its type as `format_type` prints it. */
type NamedColumn = Readonly<Record<'name' | 'type', string>>;

/** Names of columns for when the service made the item: the time axis that BI tools should take. */
const CREATED_LIKE = /^(?:created|inserted|added|submitted|requested|started|registered)(?:_(?:at|on|time|date))?$/;

/** The mirror's own columns, which come last. */
const OURS_LAST = ['_first_seen_at', '_changed_at', '_change_id'];

/** The service's columns in the first migration. */
const DOCUMENTED = new Set(['status', 'email', 'credits', 'subscription', 'org']);

/**
 * The order of a `_live` view's columns: single-column keys, account and key; then the service's plain values, its
 * times (the item's creation first) and its JSON; then the mirror's own. BI tools show the first columns, and take the
 * first time column for the time axis.
 * @param columns the table's columns that the view shows, in the table's order
 */
export function liveOrder(table: Table, columns: readonly NamedColumn[]): readonly string[] {
  const key = keyColumns(table);
  const rank = ({ name, type }: NamedColumn): number => {
    if (key.includes(name)) return key.indexOf(name) - key.length;
    if (OURS_LAST.includes(name)) return 5 + OURS_LAST.indexOf(name);
    if (type.startsWith('timestamp') || type === 'date') return CREATED_LIKE.test(name) ? 2 : 3;
    if (type.startsWith('json')) return 4;
    // Values that the mirror derives from the item's fields follow them.
    return name.startsWith('_') ? 1 : 0;
  };
  const sorted = columns.toSorted((one, other) => rank(one) - rank(other));
  return [...derivedKeys(table).map(({ name }) => name), ...sorted.map(({ name }) => name)];
}

/** Whether a view begins as in the migrations: its columns have never been put in order. */
export function isOriginalOrder(table: Table, present: readonly string[]): boolean {
  const before = present.slice(0, present.indexOf('_first_seen_at'));
  const known = new Set([...derivedKeys(table).map(({ name }) => name), ...keyColumns(table)]);
  return before.every((name) => known.has(name) || DOCUMENTED.has(name));
}

/** Columns of every table that `_live` leaves out. */
const HIDDEN_LIVE = new Set(['_deleted_at', '_hash', '_raw', '_verbatim']);

/** A view that gets each new column of its table. */
interface TableView {
  readonly suffix: '_live' | '_versions';
  /** All its columns, in the order of a new view. */
  readonly columns: readonly string[];
  /** Comments of the columns that the table lacks. */
  readonly comments: ReadonlyMap<string, string>;
  /** Whether a view with these columns, in this order, may still get another order. */
  readonly isOpen: (present: readonly string[]) => boolean;
  /** Its query for these columns, in this order. */
  readonly query: (names: readonly string[]) => RawBuilder<unknown>;
}

/** `<table>_live`: for BI tools, without deleted rows and `_raw`. */
export async function liveView(db: Db, table: Table): Promise<TableView> {
  const { rows } = await db.sql<NamedColumn>`
    select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
    where attrelid = ${relation(table)} and attnum > 0 and not attisdropped
    order by attnum`;
  const derived = new Map(derivedKeys(table).map((key) => [key.name, key]));
  const shown = rows.filter(({ name }) => !HIDDEN_LIVE.has(name) && !SECOND_COLUMN.test(name));
  const { rows: read } = await db.sql<{ done: boolean }>`
    select count(*) > 0 as done from ${db.table('_collections')}
    where collection = ${table.name} and complete_as_of is not null`;
  return {
    suffix: '_live',
    columns: liveOrder(table, shown),
    comments: new Map([...derived.values()].map(({ name, comment }) => [name, comment])),
    // Until an account has read the whole collection, fields that are rare or null at first still come.
    isOpen: (present) => read[0]?.done !== true || isOriginalOrder(table, present),
    query: (names) => sql`
      select ${sql.join(
        names.map((name) => {
          const key = derived.get(name);
          return key === undefined ? sql.id(name) : sql`${key.expression} as ${sql.id(name)}`;
        }),
      )}
      from ${dataTable(table)} where _deleted_at is null`,
  };
}

/**
 * Single-column keys for BI tools, made of the primary key's columns: `_key` of each table, and `_list_key` of a table
 * whose rows belong to the rows of another. The expressions are immutable: an index on one serves queries on the view.
 */
function derivedKeys(table: Table) {
  const { parent, key } = table;
  const texts = keyColumns(table).map((name) => {
    const part = [parent, key].find((each) => each?.column === name);
    // A number's cast to text is immutable, `bigint || text` is not.
    return part?.type === 'text' ? sql.id(name) : sql`${sql.id(name)}::text`;
  });
  const joined = (parts: readonly RawBuilder<unknown>[]): RawBuilder<unknown> => sql.join(parts, sql` || ':' || `);
  const whole = {
    name: '_key',
    expression: joined(texts),
    comment: 'By the mirror: the whole primary key as one text, for tools that join by one column.',
  };
  if (parent === undefined) return [whole];
  const ofParent = {
    name: '_list_key',
    expression: joined(texts.slice(0, -1)),
    comment: 'By the mirror: the _key of the list in lists_live.',
  };
  return [whole, ofParent];
}

/** Columns of every table that `_versions` leaves out. */
const HIDDEN_VERSIONS = new Set(['_deleted_at', '_hash', '_verbatim', DOMAIN_COLUMN]);

/** Columns that the view adds, in current versions and in those in history. */
const OF_VERSION = new Map([
  ['_valid_from', { current: sql`_changed_at as _valid_from`, past: sql`_valid_from` }],
  ['_valid_to', { current: sql`null::timestamptz as _valid_to`, past: sql`_valid_to` }],
  ['_is_current', { current: sql`true as _is_current`, past: sql`false` }],
  ['_op', { current: sql`null::text as _op`, past: sql`_op` }],
]);

/** `<table>_versions`: current and superseded versions. A column that one of the tables lacks is null there. */
export async function versionsView(db: Db, table: Table): Promise<TableView> {
  const attributes = (suffix: string): RawBuilder<unknown> => sql`
    select attname, attnum, atttypid, atttypmod, attcollation from pg_attribute
    where attrelid = ${relation(table, suffix)} and attnum > 0 and not attisdropped`;
  // A column with another type in history counts as missing there.
  const { rows } = await db.sql<NamedColumn & Record<'current' | 'past', boolean>>`
    select coalesce(a.attname, h.attname) as name,
      format_type(coalesce(a.atttypid, h.atttypid), coalesce(a.atttypmod, h.atttypmod)) as type,
      a.attname is not null as current,
      h.attname is not null and (a.attname is null
        or (a.atttypid, a.atttypmod, a.attcollation) = (h.atttypid, h.atttypmod, h.attcollation)) as past
    from (${attributes('')}) as a full join (${attributes('_history')}) as h on h.attname = a.attname
    order by a.attnum, h.attnum`;
  const columns = new Map(
    rows
      .filter(({ name }) => !HIDDEN_VERSIONS.has(name) && !OF_VERSION.has(name) && !SECOND_COLUMN.test(name))
      .map((column) => [column.name, column]),
  );
  const select = (names: readonly string[], side: 'current' | 'past'): RawBuilder<unknown> =>
    sql.join(
      names.map((name) => {
        const added = OF_VERSION.get(name)?.[side];
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
      select ${select(names, 'current')} from ${dataTable(table)} where _deleted_at is null
      union all
      select ${select(names, 'past')} from ${dataTable(table, '_history')}`,
  };
}

/**
 * Adds a view's new columns. While the order is open and nothing depends on the view, it is recreated in the best
 * order; else the columns are appended in place. Grants, comments and options survive both. A missing view is created;
 * a view that was rebuilt by hand stays as it is.
 */
export async function extendView(trx: Db, table: Table, view: TableView): Promise<void> {
  const name = dataTable(table, view.suffix);
  const present = await presentView(trx, table, view.suffix);
  const before = present?.columns ?? [];
  const added = view.columns.filter((column) => !before.includes(column));
  const isInOrder = added.length === 0 && before.every((column, index) => column === view.columns[index]);
  const mayRecreate = present !== undefined && !isInOrder && view.isOpen(before);
  if (added.length === 0 && !mayRecreate) return;
  if (present !== undefined && !(await isOurs(trx, table, view, present))) return;
  // Replacing a view would drop its options.
  const options = present === undefined ? 'security_invoker=true' : (present.options ?? '');
  const given = options === '' ? sql`` : sql`with (${sql.raw(options)})`;
  const create = (columns: readonly string[]) =>
    trx.sql`create or replace view ${name} ${given} as ${view.query(columns)}`;
  const isNew = mayRecreate && (await recreateView(trx, table, view.suffix, () => create(view.columns)));
  if (added.length === 0) return;
  if (!isNew) await create([...before, ...added]);

  // BI tools show the comments of the view's columns.
  const { rows: comments } = await trx.sql<{ column: string; comment: string }>`
    select a.attname as column, col_description(a.attrelid, a.attnum) as comment from pg_attribute as a
    where a.attrelid = ${relation(table)}
      and a.attname = any(${[...added]}::text[]) and col_description(a.attrelid, a.attnum) is not null`;
  for (const column of added) {
    const comment = view.comments.get(column);
    if (comment !== undefined) comments.push({ column, comment });
  }
  for (const { column, comment } of comments) {
    await trx.sql`comment on column ${name}.${sql.id(column)} is ${sql.raw(quotedText(comment))}`;
  }
}

/** An existing view: its columns in order, its options (`security_invoker=true`, …), and whether we may replace it. */
async function presentView(db: Db, table: Table, suffix: string) {
  const { rows } = await db.sql<
    Readonly<{ columns: string[]; options: string | null; definition: string; owned: boolean }>
  >`
    select pg_get_viewdef(c.oid) as definition, array_to_string(c.reloptions, ', ') as options,
      pg_has_role(c.relowner, 'usage') as owned,
      array(select a.attname::text from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by a.attnum) as columns
    from pg_class c
    where c.oid = ${relation(table, suffix)} and c.relkind = 'v'`;
  return rows[0];
}

/** Whether the view has our definition, by comparison with a view that is created for that and dropped. */
async function isOurs(
  trx: Db,
  table: Table,
  view: TableView,
  { columns, definition, owned }: Readonly<{ columns: string[]; definition: string; owned: boolean }>,
) {
  if (!owned || !columns.every((column) => view.columns.includes(column))) return false;
  const suffix = `${view.suffix}_as_written`;
  await trx.sql`create view ${dataTable(table, suffix)} as ${view.query(columns)}`;
  const written = await presentView(trx, table, suffix);
  await trx.sql`drop view ${dataTable(table, suffix)}`;
  return written?.definition === definition;
}
