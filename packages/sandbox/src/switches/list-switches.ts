import { choice, integer } from './switch-kind.ts';

/** Details of lists that the specification does not show (section 4.3, 8.1). */
export const LIST_SWITCHES = {
  order: choice(
    ['falling', 'rising', 'created', 'last-updated', 'score', 'unordered'],
    'falling',
    'order of lists: by ID, by creation time with ties, by a changing value (memory grows with the collection), none',
  ),
  cursor: choice(
    [
      'keyset',
      'position-400',
      'position-404',
      'inclusive',
      'opaque',
      'garbled',
      'unknown-ignored',
      'unknown-empty',
    ],
    'keyset',
    'starting_after: items beyond that ID; the place of an existing item, else a refusal; with the item itself; next_cursor tokens; next_cursors with U+0000 or half a surrogate pair, beside IDs that work; unknown: first page, or empty',
  ),
  hasMore: choice(['exact', 'full', 'missing'], 'exact', 'has_more: exact; the page was full; no such field'),
  noError: choice(
    ['missing', 'null', 'false', 'zero', 'empty', 'list', 'object'],
    'missing',
    'how a good page says that there is no error: not at all; "error": null, false, 0, ""; "errors": [], {}',
  ),
  envelope: choice(['flat', 'nested'], 'flat', 'list envelope: as specified, or nested one level'),
  badLimit: choice(['400', '422', 'clamped'], '400', 'answer to a limit outside the allowed range'),
  maxLimit: integer(500, 'greatest limit allowed', { min: 1, max: 500, live: true }),
  smallLimit: choice(
    ['taken', 'ignored', 'refused', 'last'],
    'taken',
    'a limit smaller than the greatest: taken; ignored; refused; taken, and has_more is false',
  ),
  deletedList: choice(['404', 'empty'], '404', 'GET /v1/lists/{id} of a deleted list'),
};
