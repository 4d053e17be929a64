/** Cuts SQL at semicolons outside of quotes, dollar quotes and comments. @returns each statement, and where it begins */
export function splitStatements(text: string): { readonly at: number; readonly statement: string }[] {
  const found: { at: number; statement: string }[] = [];
  const token = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"[^"]*"|(\$\w*\$)[\s\S]*?\1|;/g;
  let begin = 0;
  const take = (end: number): void => {
    const statement = text.slice(begin, end);
    const lead = /^(?:\s|--[^\n]*\n)*/.exec(statement)?.[0].length ?? 0;
    if (statement.length > lead) found.push({ at: begin + lead, statement: statement.slice(lead) });
    begin = end + 1;
  };
  for (const match of text.matchAll(token)) if (match[0] === ';') take(match.index);
  take(text.length);
  return found;
}
