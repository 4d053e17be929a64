/** A name as it stands in SQL that people run. Always in quotes, since it may be one of SQL's words. */
export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * A text as a literal, for statements that take no parameters (COMMENT, PASSWORD) and SQL that people run: everything
 * else is bound. Right whatever standard_conforming_strings is: in E'' a backslash escapes under both.
 */
export function quotedText(text: string): string {
  return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}
