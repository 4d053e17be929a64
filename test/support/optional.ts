/**
 * Whether tests run that need what a machine may lack: where it is there, unless the variable is `off`. `required` (CI)
 * makes a missing one a failure; otherwise it is said on stderr, for `npm test` needs nothing but Node.
 */
export function isTested(variable: string, isThere: boolean, missing: string, untested: string): boolean {
  const wish = process.env[variable];
  if (wish === 'off' || isThere) return wish !== 'off';
  if (wish === 'required') throw new Error(missing);
  process.stderr.write(`${missing}; NOT TESTED: ${untested}\n`);
  return false;
}
