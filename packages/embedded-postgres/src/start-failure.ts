/** Why the server did not start, from its log: one sentence with the remedy. */
export function explainFailure(log: string, port: number, logFile: string): string {
  const has = (pattern: RegExp): boolean => pattern.test(log);
  if (has(/Address already in use|could not bind/)) {
    return `port ${port} is taken by another program (or another mirror's embedded server): set MIRROR_PG_PORT to a free port`;
  }
  if (has(/No space left on device/)) return 'the disk is full: make room for the database';
  if (has(/Read-only file system/)) return 'the database is on a read-only file system';
  if (has(/could not (create|map|resize|attach).*shared memory/)) {
    return `the machine gives it no shared memory (details: ${logFile})`;
  }
  if (has(/has wrong ownership|invalid permissions/)) {
    return 'the database folder must belong to the user who runs the server, with mode 0700';
  }
  if (
    has(
      /invalid value for parameter|unrecognized configuration parameter|configuration file .* contains errors/,
    )
  ) {
    return `postgresql.conf has an error (details: ${logFile})`;
  }
  const fatal = log.split('\n').findLast((line) => /\b(FATAL|PANIC|error while loading)\b/.test(line));
  const reason = fatal?.replace(/^.*?\b(FATAL|PANIC):\s*/, '') ?? 'it ended and logged no reason';
  return `${reason} (details: ${logFile})`;
}
