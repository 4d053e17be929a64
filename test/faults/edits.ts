/** How often `part` stands in `text`. */
export function occurrences(text: string, part: string): number {
  return text.split(part).length - 1;
}
