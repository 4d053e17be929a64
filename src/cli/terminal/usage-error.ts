/** The command line as it stands makes no sense: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
