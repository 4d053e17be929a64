/** The message of anything thrown, for one line of a log or a table; causes joined by ": ", unless said already. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = error.message === '' ? error.name : error.message;
  if (error.cause === undefined) return text;
  const cause = messageOf(error.cause);
  return text.includes(cause) ? text : `${text}: ${cause}`;
}
