/** The message of anything thrown, in one line: messages of causes follow after ": ", unless they are repeated. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = error.message === '' ? error.name : error.message;
  if (error.cause === undefined) return text;
  const cause = messageOf(error.cause);
  return text.includes(cause) ? text : `${text}: ${cause}`;
}
