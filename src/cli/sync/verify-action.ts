import { randomInt } from 'node:crypto';
import { runVerify, type VerifyReport } from '../../app/verify/run-verify.ts';
import { formatCount } from '@research-mirror/runtime/figures';
import { chooseCollections } from '../steps/choose-collections.ts';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { serviceConfig } from '../steps/service-config.ts';
import { SET_A_KEY } from '../steps/failure.ts';
import { UsageError } from '../terminal/usage-error.ts';
import { showPass } from './show-pass.ts';
import { describeVerification, verifyingLine } from './verify-text.ts';
import type { Shell } from '../terminal/shell.ts';

/** Rows of a sample, at most: of more, all are read as fast. */
const MOST_SAMPLED = 10_000;

/** What `verify` does. */
export async function verifyAction(
  shell: Shell,
  names: string[],
  options: { sample?: string; json?: boolean; demo?: boolean },
): Promise<ExitCode> {
  const chosen = chooseCollections(names);
  const sample = options.sample === undefined ? null : readSample(options.sample);
  const config = await serviceConfig(shell, options.demo ?? false);
  const report = await showPass(shell, config, {
    run: (parts) => runVerify(config, { ...parts, collections: chosen ?? config.collections, sample }),
    line: verifyingLine,
    begins: verifyingLine([]),
    json: options.json ?? false,
    describe: describeVerification,
    remedy: SET_A_KEY,
  });
  return answerOf(report);
}

/** That something differs is certain, whatever else could not be read. */
function answerOf({ equal, collections }: VerifyReport): ExitCode {
  if (equal) return EXIT.DONE;
  const different = collections.some(({ missing, extra, different: unlike }) => missing + extra + unlike > 0);
  return different ? EXIT.NO : EXIT.FAILED;
}

/** @throws UsageError */
function readSample(text: string): { readonly rows: number; readonly seed: number } {
  const rows = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : Number.NaN;
  if (rows <= MOST_SAMPLED) return { rows, seed: randomInt(2 ** 31) };
  const given = JSON.stringify(text);
  throw new UsageError(`--sample: ${given} must be a whole number from 1 to ${formatCount(MOST_SAMPLED)}`);
}
