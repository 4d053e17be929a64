import { fraction, mix } from '../hash.ts';

const DIGITS = '1234567890'.repeat(40);
const LONG = 'langer Text – длинный '.repeat(10_000);
const MEGABYTE = 'long text '.repeat(100_000);
const DEPTH = 20_000;
const DEEP = `${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}`;

/** One field, of another type in each item. */
const TYPES = ['12.5', '"12.5"', '"2026-01-02T03:04:05Z"', 'true', '{"value":12.5}', '[12.5]', 'null', '7'];

/** Names that are empty, reserved, too long, different by case only, or not storable as `text`. */
const ODD_NAMES = `
 select user ctid xmin _raw _user_id _key Title title TITLE ti-tle ti:tle größe 1st __proto__ constructor`
  .split(/[\n ]/)
  .concat('x'.repeat(80), `${'x'.repeat(80)}y`, 'é'.repeat(40))
  .map((name, index) => `${JSON.stringify(name)}:${index}`)
  .concat(['"\\u0000":100', '"half \\ud83d":101', `"${'n'.repeat(2000)}":102`])
  .join();

/** Keys that are not a valid `bigint`; as a `text` key the number is valid. */
function badId(hash: number): string {
  const number = `9223372036854775807${String(hash).padStart(10, '0')}`;
  const bad = ['null', 'true', '{}', '[]', '""', number, `"${'x'.repeat(3000)}"`, '"a\\u0000b"'];
  return bad[mix(hash, 53) % bad.length] ?? 'null';
}

/** The members of each kind, in addition to the item's own. */
const MEMBERS = {
  nul: () => '"remark":"before\\u0000after"',
  surrogate: () => '"remark":"half \\ud83d alone"',
  control: () => '"remark":"bell \\u0007 escape \\u001b[31m \\u202eturned"',
  infinite: () => '"ratio":1e400',
  // PostgreSQL's numeric ends at some 131,072 digits before the point.
  overflow: () => '"ratio":1e200000',
  digits: () => `"ratio":${DIGITS}.5`,
  'minus-zero': () => '"ratio":-0',
  // Their IDs are odd.
  'no-id': () => '',
  'bad-id': () => '',
  long: () => `"remark":"${LONG}"`,
  megabyte: (_hash, megabytes) => `"report":"${MEGABYTE.repeat(megabytes)}"`,
  deep: () => `"nested":${DEEP}`,
  twice: () => '"remark":"first","remark":"second"',
  types: (hash) => `"measure":${TYPES[mix(hash, 54) % TYPES.length] ?? 'null'}`,
  names: () => ODD_NAMES,
  'many-fields': (hash) =>
    Array.from({ length: 100 }, (_, index) => `"x_${hash.toString(36)}_${index}":${index}`).join(),
} as const satisfies Record<string, (hash: number, megabytes: number) => string>;
export type HostileKind = keyof typeof MEMBERS;

/** Values of the switch `hostileKinds`. */
export const HOSTILE_KINDS = Object.keys(MEMBERS) as readonly HostileKind[];

/**
 * The item's JSON text: `id` (JSON text) as `keyField`, its members, and, of a hostile item, its hostile members.
 * @param options part of the items, their kinds separated by commas, and the size of the kind `megabyte`
 */
export function itemText(
  keyField: string,
  id: string,
  members: string,
  hash: number,
  options: { readonly hostileShare: number; readonly hostileKinds: string; readonly megabytes: number },
): string {
  if (options.hostileShare === 0 || fraction(mix(hash, 51)) >= options.hostileShare)
    return `{"${keyField}":${id},${members}}`;
  const kinds = options.hostileKinds.split(',') as HostileKind[];
  const kind = kinds[mix(hash, 52) % kinds.length] ?? 'nul';
  if (kind === 'no-id') return `{${members}}`;
  if (kind === 'bad-id') return `{"${keyField}":${badId(hash)},${members}}`;
  return `{"${keyField}":${id},${members},${MEMBERS[kind](hash, options.megabytes)}}`;
}
