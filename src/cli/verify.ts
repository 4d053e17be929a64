import type { VerifyReport } from '../app.ts';
import type { VerifyProgress } from '../app/verify.ts';
import { loadConfig } from '../config/load.ts';
import { COLLECTION_NAMES } from '../model/collections.ts';
import { chooseCollections } from './choose-collections.ts';
import { examples, type AddCommand } from './command.ts';
import { loadEngine } from './engine.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { makeLog } from './log.ts';
import { Progress } from './progress.ts';
import { widthOfTerminal } from './shell.ts';
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
    .argument('[collection...]', `which ones; default: MIRROR_COLLECTIONS (${COLLECTION_NAMES.join(', ')})`)
    .option('--json', 'the result as JSON on stdout, with up to 1,000 discrepancies of each collection')
    .addHelpText(
      'after',
      examples([
        ['research-mirror verify', 'everything'],
        ['research-mirror verify lists list_items', 'these two'],
        ["research-mirror verify --json | jq '.collections[].discrepancies'", 'for scripts'],
      ]),
    )
    .action(
      run(async (shell, names: string[], options: { json?: boolean }) => {
        const chosen = chooseCollections(names);
        const config = loadConfig(shell.env, 'service');
        const { runVerify } = await loadEngine();
        const progress = new Progress(shell);
        const sums = new Map<string, VerifyProgress>();
        let report: VerifyReport;
        progress.show(verifyingLine([]));
        try {
          report = await runVerify(config, {
            collections: chosen ?? config.collections,
            signal: shell.signal,
            log: makeLog(config, shell, shell.err, 'warn'),
            hide: (secret) => shell.scrubber.hide(secret),
            scrub: (text) => shell.scrubber.scrub(text),
            onProgress: (each) => {
              sums.set(`${each.userId}/${each.collection}`, each);
              progress.show(verifyingLine(sums.values()));
            },
          });
        } finally {
          progress.end();
        }
        const text =
          options.json === true
            ? `${JSON.stringify(report)}\n`
            : describeVerification(report, widthOfTerminal(shell.out));
        shell.out.write(shell.scrubber.scrub(text));
        for (const { key, error } of report.unknownKeys) {
          shell.err.write(
            shell.scrubber.scrub(`research-mirror: API key ${key}…: ${error}; set a good MIRROR_API_KEY\n`),
          );
        }
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
