import { runVerify, type VerifyReport } from '../../app/verify/run-verify.ts';
import { chooseCollections } from '../steps/choose-collections.ts';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { serviceConfig } from '../steps/service-config.ts';
import { SET_A_KEY } from '../steps/failure.ts';
import { showPass } from './show-pass.ts';
import { describeVerification, verifyingLine } from './verify-text.ts';
import type { Shell } from '../terminal/shell.ts';

/** What `verify` does. */
export async function verifyAction(
  shell: Shell,
  names: string[],
  options: { json?: boolean; demo?: boolean },
): Promise<ExitCode> {
  const chosen = chooseCollections(names);
  const config = await serviceConfig(shell, options.demo ?? false);
  const report = await showPass(shell, config, {
    run: (parts) => runVerify(config, { ...parts, collections: chosen ?? config.collections }),
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
