import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { tokenOf } from './page.ts';

/** What stands around the items of a page: `head`, the items with commas in between, `tail`. */
export interface Envelope {
  readonly head: string;
  readonly tail: string;
}

/**
 * The list envelope of specification 2.5 as JSON text, in the shape that the switches name.
 * @param nestedName under what a nested envelope puts the page
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
  return options.envelope === 'flat'
    ? { head: '{"object":"list","data":[', tail: `]${after}}` }
    : { head: `{"object":"list","${nestedName}":{"data":[`, tail: `]${after}},"meta":{"version":1}}` };
}
