import { fraction, mix } from '../hash.ts';

/** Values of the switch `hostileKinds`. */
export const HOSTILE_KINDS = [
  'nul',
  'surrogate',
  'control',
  'infinite',
  'overflow',
  'digits',
  'minus-zero',
  'no-id',
  'bad-id',
  'long',
  'megabyte',
  'deep',
  'twice',
  'types',
  'names',
  'many-fields',
] as const;
export type HostileKind = (typeof HOSTILE_KINDS)[number];

/** The switches that make items hostile. */
export interface HostileOptions {
  /** Part of the items, 0 to 1. */
  readonly hostileShare: number;
  /** Names of `HOSTILE_KINDS`, separated by commas. */
  readonly hostileKinds: string;
  /** Size of an item of the kind `megabyte`. */
  readonly megabytes: number;
}

/** The kind of a hostile item; undefined for other items. */
function hostileKind(hash: number, options: HostileOptions): HostileKind | undefined {
  if (options.hostileShare === 0 || fraction(mix(hash, 51)) >= options.hostileShare) return undefined;
  const kinds = options.hostileKinds.split(',') as HostileKind[];
  return kinds[mix(hash, 52) % kinds.length];
}

/** The item's JSON text: `id` (JSON text) as `keyField`, its members, and its hostile members. */
export function itemText(
  keyField: string,
  id: string,
  members: string,
  hash: number,
  options: HostileOptions,
): string {
  const hostile = hostileKind(hash, options);
  if (hostile === undefined) return `{"${keyField}":${id},${members}}`;
  if (hostile === 'no-id') return `{${members}}`;
  if (hostile === 'bad-id') return `{"${keyField}":${badId(hash)},${members}}`;
  return `{"${keyField}":${id},${members},${hostileMembers(hostile, hash, options)}}`;
}

/** Keys that are not a valid `bigint`; as a `text` key the number is valid. */
function badId(hash: number): string {
  const bad = [
    'null',
    'true',
    '{}',
    '[]',
    '""',
    `9223372036854775807${String(hash).padStart(10, '0')}`,
    `"${'x'.repeat(3000)}"`,
    '"a\\u0000b"',
  ];
  return bad[mix(hash, 53) % bad.length] ?? 'null';
}

const DIGITS = '1234567890'.repeat(40);
const LONG = 'langer Text – длинный '.repeat(10_000);
const MEGABYTE = 'long text '.repeat(100_000);
const DEPTH = 20_000;
const DEEP = `${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}`;

function hostileMembers(
  kind: Exclude<HostileKind, 'no-id' | 'bad-id'>,
  hash: number,
  options: HostileOptions,
): string {
  switch (kind) {
    case 'nul':
      return '"remark":"before\\u0000after"';
    case 'surrogate':
      return '"remark":"half \\ud83d alone"';
    case 'control':
      return '"remark":"bell \\u0007 escape \\u001b[31m \\u202eturned"';
    case 'infinite':
      return '"ratio":1e400';
    case 'overflow':
      // PostgreSQL's numeric ends at some 131,072 digits before the point.
      return '"ratio":1e200000';
    case 'digits':
      return `"ratio":${DIGITS}.5`;
    case 'minus-zero':
      return '"ratio":-0';
    case 'long':
      return `"remark":"${LONG}"`;
    case 'megabyte':
      return `"report":"${MEGABYTE.repeat(options.megabytes)}"`;
    case 'deep':
      return `"nested":${DEEP}`;
    case 'twice':
      return '"remark":"first","remark":"second"';
    case 'types':
      return `"measure":${TYPES[mix(hash, 54) % TYPES.length] ?? 'null'}`;
    case 'names':
      return ODD_NAMES;
    case 'many-fields':
      return Array.from({ length: 100 }, (_, index) => `"x_${hash.toString(36)}_${index}":${index}`).join();
  }
}

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
