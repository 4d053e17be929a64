import { Option, type Command } from 'commander';
import { loadConfig } from '../../config/load.ts';
import { startSandbox } from '@research-mirror/sandbox/start-sandbox';
import { readSandboxOptions } from '@research-mirror/sandbox/switches/read-options';
import { flagOf, SANDBOX_SWITCHES, SWITCH_NAMES } from '@research-mirror/sandbox/switches/sandbox-switches';
import { examples, type AddCommand } from '../terminal/add-command.ts';
import { withArgumentWords } from '../terminal/argument-words.ts';
import { EXIT } from '../terminal/exit-code.ts';
import { untilAborted } from '@research-mirror/runtime/service';
import { UsageError } from '../terminal/usage-error.ts';

export const addSandbox: AddCommand = (program, run) => {
  const command = program
    .command('sandbox')
    .summary('the emulated service, to try and to test against')
    .description(
      'The emulated service: the whole interface with made-up companies, until Ctrl-C. Its control API (truth, counters, ' +
        'changes, clock, faults) listens on another port.',
    )
    .option('--json', 'addresses as JSON')
    .addHelpText(
      'after',
      examples([
        ['research-mirror sandbox', 'small, with the real rate limits'],
        ['research-mirror sandbox --jobs 10000000 --limits off', 'large and fast'],
        ['research-mirror sandbox --fault-500 0.05 --fault-reset 0.02', 'a bad day'],
      ]),
    );
  addSwitches(command);
  command.action(
    run(async (shell, options: Readonly<Record<string, string | boolean | undefined>>) => {
      // Nothing of it is needed, but a slip in a variable's name is told here, too.
      loadConfig(shell.env, 'database');
      const { json, ...switches } = options;
      const reading = readSandboxOptions(switches);
      if ('problems' in reading)
        throw new UsageError(reading.problems.map((problem) => `--${problem}`).join('\n'));
      const sandbox = await startSandbox(reading.options, shell.clock);
      try {
        const [first = ''] = reading.options.keys.split(',');
        const key = first.replace(/=[^=]*$/, '');
        shell.out.write(
          json === true
            ? `${JSON.stringify({ url: sandbox.url, controlUrl: sandbox.controlUrl, key })}\n`
            : `service      ${sandbox.url}\ncontrol API  ${sandbox.controlUrl}\nAPI key      ${key}\n\n` +
                `mirror it:   MIRROR_API_URL=${sandbox.url} MIRROR_API_KEY=${key} npx research-mirror start\n`,
        );
        await untilAborted(shell.signal);
      } finally {
        await sandbox.stop();
      }
      return EXIT.DONE;
    }),
  );
};

/** An option for each switch; the sandbox itself judges the values, so that all problems come at once. */
function addSwitches(command: Command): void {
  for (const name of SWITCH_NAMES) {
    const { choices, kind, help, default: usual } = SANDBOX_SWITCHES[name];
    const legal = choices === undefined ? '' : `: ${choices.join(', ')}`;
    const does = `${help}${legal} (default: ${usual})`;
    const option = new SwitchOption(name, `--${flagOf(name)} <${kind}>`, does);
    command.addOption(withArgumentWords(option, choices ?? []));
  }
}

/** An option that goes by its switch's name; commander would take `--no-webhook` for the negation of another one. */
class SwitchOption extends Option {
  override negate = false;
  readonly #name: string;

  constructor(name: string, flags: string, help: string) {
    super(flags, help);
    this.#name = name;
  }

  override attributeName(): string {
    return this.#name;
  }
}
