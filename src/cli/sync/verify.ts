import type { VerifyReport } from '../../app/verify/run-verify.ts';
import { COLLECTION_NAMES } from '../../model/collections.ts';
import { chooseCollections, collectionsArgument } from '../steps/choose-collections.ts';
import { examples, type AddCommand } from '../terminal/add-command.ts';
import { EXIT, type ExitCode } from '../terminal/exit-code.ts';
import { serviceConfig } from '../steps/service-config.ts';
import { SET_A_KEY } from '../steps/failure.ts';
import { showPass } from './show-pass.ts';
import { describeVerification, verifyingLine } from './verify-text.ts';

export const addVerify: AddCommand = (program, run) => {
  program
    .command('verify')
    .summary('read the service again and compare the mirror with it, row by row')
    .description(
      'Reads the service again and compares the mirror with it in every row and field; writes no row. What differs is ' +
        'read a second time before it is told. Ends with 0 when they are equal, with 1 when they are not. It takes as ' +
        'many requests as a full walk; beside a running daemon, the daemon does the work.',
    )
    .addArgument(
      collectionsArgument(`which ones; default: MIRROR_COLLECTIONS (${COLLECTION_NAMES.join(', ')})`),
    )
    .option('--json', 'the result as JSON on stdout, with up to 1,000 discrepancies of each collection')
    .option('--demo', "the demo's mirror, while it runs")
    .addHelpText(
      'after',
      examples([
        ['research-mirror verify', 'everything'],
        ['research-mirror verify lists list_items', 'these two'],
        ["research-mirror verify --json | jq '.collections[].discrepancies'", 'for scripts'],
      ]),
    )
    .action(
      run(async (shell, names: string[], options: { json?: boolean; demo?: boolean }) => {
        const chosen = chooseCollections(names);
        const config = await serviceConfig(shell, options.demo ?? false);
        const { runVerify } = await import('../../app/verify/run-verify.ts');
        const report = await showPass(shell, config, {
          run: (parts) => runVerify(config, { ...parts, collections: chosen ?? config.collections }),
          line: verifyingLine,
          begins: verifyingLine([]),
          json: options.json ?? false,
          describe: describeVerification,
          remedy: SET_A_KEY,
        });
        return answerOf(report);
      }),
    );
};

/** That something differs is certain, whatever else could not be read. */
function answerOf({ equal, collections }: VerifyReport): ExitCode {
  if (equal) return EXIT.DONE;
  const different = collections.some(({ missing, extra, different: unlike }) => missing + extra + unlike > 0);
  return different ? EXIT.NO : EXIT.FAILED;
}
