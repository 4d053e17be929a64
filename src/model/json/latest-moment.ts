import { timestampText } from './timestamp-text.ts';

/**
 * The latest moment that an item tells of itself in any of its own fields, under whatever name: none of them is in the
 * specification (section 2.5).
 * @returns milliseconds since the epoch; undefined where no field holds an ISO 8601 moment
 */
export function latestMoment(fields: Readonly<Record<string, unknown>>): number | undefined {
  const moments = Object.values(fields).flatMap((value) => {
    const text = typeof value === 'string' ? timestampText(value) : undefined;
    return text === undefined ? [] : [Date.parse(text)];
  });
  return moments.length === 0 ? undefined : Math.max(...moments);
}
