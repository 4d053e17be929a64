/** Three numbers, as package.json and the migrations write them: `0.2.0`. */
const VERSION = /^(\d+)\.(\d+)\.(\d+)$/;

/** Whether `text` is a version that `isOlder` can compare. */
export function isVersion(text: string): boolean {
  return VERSION.test(text);
}

/** Whether program version `one` came before `other`. @throws RangeError for what is no version (a defect of ours) */
export function isOlder(one: string, other: string): boolean {
  const [left, right] = [numbersOf(one), numbersOf(other)];
  const at = left.findIndex((number, index) => number !== right[index]);
  return at >= 0 && (left[at] ?? 0) < (right[at] ?? 0);
}

function numbersOf(text: string): readonly number[] {
  const match = VERSION.exec(text);
  if (match === null) throw new RangeError(`${JSON.stringify(text)} is no version`);
  return match.slice(1).map(Number);
}
