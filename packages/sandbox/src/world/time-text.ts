const FORMS = ['z', 'offset', 'none', 'fraction', 'epoch', 'epoch-ms'] as const;

/** Values of the switch `times`. */
export const TIME_FORMS = [...FORMS, 'mixed', 'broken'] as const;

/** A time as JSON text in the form of the switch `times`; null for undefined. */
export function timeText(ms: number | undefined, form: (typeof TIME_FORMS)[number]): string {
  if (ms === undefined) return 'null';
  switch (form) {
    case 'z':
      return `"${toSecond(ms)}Z"`;
    case 'offset':
      return `"${toSecond(ms)}+00:00"`;
    case 'none':
      return `"${toSecond(ms)}"`;
    case 'fraction':
      return `"${toSecond(ms)}.${String(ms % 1000).padStart(3, '0')}${String((ms * 7) % 1000).padStart(3, '0')}Z"`;
    case 'epoch':
      return String(Math.floor(ms / 1000));
    case 'epoch-ms':
      return String(ms);
    case 'mixed':
      return timeText(ms, FORMS[Math.floor(ms / 1000) % FORMS.length] ?? 'z');
    case 'broken':
      return NO_TIMES[Math.floor(ms / 1000) % NO_TIMES.length] ?? '""';
  }
}

/** Texts that are not times. */
const NO_TIMES = ['"2026-02-30T25:61:00Z"', '"yesterday"', '""', '"0000-00-00 00:00:00"', '"+275760-09-13T00:00:00Z"'];

/** `2026-11-21T13:06:53`. */
function toSecond(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19);
}
