/** A text for people, at most `characters` of it: what was cut off shows as `…`. */
export function shortened(text: string, characters: number): string {
  return text.length <= characters ? text : `${text.slice(0, characters).toWellFormed()}…`;
}
