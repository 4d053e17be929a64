import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { tokenOf } from './page.ts';

/**
 * The list envelope of specification 2.5 as JSON text, in the shape that the switches name.
 * @param nestedName under what a nested envelope puts the page
 * @param lastId ID of the last item, for `next_cursor`
 */
export function envelope(
  items: readonly string[],
  hasMore: boolean,
  lastId: string | undefined,
  nestedName: string,
  options: SandboxOptions,
): string {
  let page = `"data":[${items.join(',')}]`;
  if (options.hasMore !== 'missing') page += `,"has_more":${hasMore}`;
  if (options.cursor === 'opaque') {
    page += `,"next_cursor":${hasMore && lastId !== undefined ? JSON.stringify(tokenOf(lastId)) : 'null'}`;
  }
  return options.envelope === 'flat'
    ? `{"object":"list",${page}}`
    : `{"object":"list","${nestedName}":{${page}},"meta":{"version":1}}`;
}
