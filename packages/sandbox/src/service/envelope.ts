import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { tokenOf } from './page.ts';

/** The text around a page's items: `head`, the items with commas in between, `tail`. */
export interface Envelope {
  readonly head: string;
  readonly tail: string;
}

/**
 * The list envelope of specification 2.5 as JSON text, in the shape of the switches.
 * @param nestedName field of the page in a nested envelope
 * @param lastId ID of the last item, for `next_cursor`
 */
export function envelope(
  hasMore: boolean,
  lastId: string | undefined,
  nestedName: string,
  options: SandboxOptions,
): Envelope {
  let after = '';
  if (options.hasMore !== 'missing') after += `,"has_more":${hasMore}`;
  if (options.cursor === 'opaque') {
    after += `,"next_cursor":${hasMore && lastId !== undefined ? JSON.stringify(tokenOf(lastId)) : 'null'}`;
  }
  if (options.cursor === 'garbled') {
    after += `,"next_cursor":${hasMore && lastId !== undefined ? garbled(lastId) : 'null'}`;
  }
  const object = `{"object":"list"${NO_ERROR[options.noError]}`;
  return options.envelope === 'flat'
    ? { head: `${object},"data":[`, tail: `]${after}}` }
    : { head: `${object},"${nestedName}":{"data":[`, tail: `]${after}},"meta":{"version":1}}` };
}

const NO_ERROR: Readonly<Record<SandboxOptions['noError'], string>> = {
  missing: '',
  null: ',"error":null',
  false: ',"error":false',
  zero: ',"error":0',
  empty: ',"error":""',
  list: ',"errors":[]',
  object: ',"errors":{}',
};

/** A cursor of a broken encoder: jsonb accepts neither form, and the second is not valid Unicode. */
function garbled(id: string): string {
  return /[02468]$/.test(id) ? String.raw`"\u0000${id}"` : String.raw`"\ud800${id}"`;
}
