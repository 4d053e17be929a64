/** `12,345`: a number for people. */
export function formatCount(count: number): string {
  // `toLocaleString` loads what it knows of languages: ten milliseconds in a program that lives for three hundred.
  if (Number.isSafeInteger(count)) return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');
  return count.toLocaleString('en-US');
}

/** `3 rows`, `1 row`. */
export function countOf(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** How long ago a time was, roughly: `5 s ago`, `3 h ago`; `in 20 s` for a time to come. */
export function formatAge(ms: number): string {
  const text = formatSpan(Math.abs(ms));
  return ms < 0 ? `in ${text}` : `${text} ago`;
}

/** `40 s`, `3 min`, `2 h`, `4 d`: in the largest unit that gives at least two. */
export function formatSpan(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}

/** `1st`, `2nd`, `13th`, `21st`. */
export function ordinal(number: number): string {
  const ten = number % 100;
  const ending = ten >= 11 && ten <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][number % 10] ?? 'th');
  return `${number}${ending}`;
}
