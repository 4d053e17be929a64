/** Names of fields that hold moments, as the whole column name or its last words. */
const TIME_NAME =
  /(?:^|_)(?:at|on|ts|time|timestamp|date|datetime|since|until|created|updated|modified|changed|deleted|started|finished|completed|ended|expires|expiry|last_seen)$/;

/** Whether a column of this name may hold a moment (docs/tables.md, "Columns for fields"). */
export function namedLikeTime(columnName: string): boolean {
  return TIME_NAME.test(columnName);
}
