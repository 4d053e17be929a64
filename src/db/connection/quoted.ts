/** A name as it stands in SQL that people run. Always in quotes, since it may be one of SQL's words. */
export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
