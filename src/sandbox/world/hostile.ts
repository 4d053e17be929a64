import { fraction, mix } from '../hash.ts';
import type { HostileKind } from '../switches/data-switches.ts';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';

const DIGITS = '1234567890'.repeat(40);
const MEGABYTE = 'long text '.repeat(100_000);

/** What a hostile item carries; undefined for most items. */
export function hostileKind(hash: number, options: SandboxOptions): HostileKind | undefined {
  if (options.hostileShare === 0 || fraction(mix(hash, 51)) >= options.hostileShare) return undefined;
  const kinds = options.hostileKinds.split(',') as HostileKind[];
  return kinds[mix(hash, 52) % kinds.length];
}

/** The item's JSON text: `id` (JSON text) under `keyField`, its members, and the hostile value. */
export function itemText(
  keyField: string,
  id: string,
  members: string,
  hostile: HostileKind | undefined,
  hash: number,
): string {
  switch (hostile) {
    case undefined:
      return `{"${keyField}":${id},${members}}`;
    case 'no-id':
      return `{${members}}`;
    case 'bad-id':
      return `{"${keyField}":${badId(hash)},${members}}`;
    case 'nul':
      return `{"${keyField}":${id},${members},"remark":"before\\u0000after"}`;
    case 'surrogate':
      return `{"${keyField}":${id},${members},"remark":"half \\ud83d alone"}`;
    case 'control':
      return `{"${keyField}":${id},${members},"remark":"bell \\u0007 escape \\u001b[31m \\u202eturned"}`;
    case 'infinite':
      return `{"${keyField}":${id},${members},"ratio":1e400}`;
    case 'digits':
      return `{"${keyField}":${id},${members},"ratio":${DIGITS}.5}`;
    case 'minus-zero':
      return `{"${keyField}":${id},${members},"ratio":-0}`;
    case 'megabyte':
      return `{"${keyField}":${id},${members},"report":"${MEGABYTE}"}`;
  }
}

/** Keys that no table can hold. */
function badId(hash: number): string {
  const bad = [
    'null',
    'true',
    '{}',
    '[]',
    '""',
    '92233720368547758070000',
    `"${'x'.repeat(3000)}"`,
    '"a\\u0000b"',
  ];
  return bad[mix(hash, 53) % bad.length] ?? 'null';
}
